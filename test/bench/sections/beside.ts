import { inTurn } from '../load/rounds.js';
import { computeStats } from '../load/stats.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import type { Service } from '../service.js';

const FAST = 'page-100-day';
const SLOW = 'traffic-13m-kolkata';
const ROUND_MS = 1_500;

/** A fast query's p95 by itself and while a slow one is always running; milliseconds. */
export interface Beside {
  fast: string;
  slow: string;
  aloneP95: number;
  besideP95: number;
}

export async function measureBeside(service: Service, options: Options): Promise<Beside | undefined> {
  const [fast, slow] = [FAST, SLOW].map((wanted) => service.cases().find(({ id }) => id === wanted));
  if (!fast || !slow || !wants(options, 'beside')) return undefined;
  progress('a fast query beside a slow one');
  const alone = async () => computeStats(await service.httpRound(fast, 1, ROUND_MS)).p95;
  const beside = async () => {
    const [took] = await Promise.all([
      service.httpRound(fast, 1, ROUND_MS),
      service.httpRound(slow, 1, ROUND_MS),
    ]);
    return computeStats(took).p95;
  };
  const rounds = Math.max(3, Math.round(options.budgetMs / ROUND_MS));
  const [aloneP95 = NaN, besideP95 = NaN] = await inTurn([alone, beside], rounds);
  return { fast: fast.title, slow: slow.title, aloneP95, besideP95 };
}
