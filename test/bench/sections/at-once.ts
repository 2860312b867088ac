import { inTurn } from '../load/rounds.js';
import { computeStats } from '../load/stats.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import type { Service } from '../service.js';

export const CASES = ['page-100', 'details', 'traffic-30d-utc'];
const AT_ONCE = [1, 4, 8, 16, 64];
const ROUND_MS = 1_000;

/** Queries a second with `concurrency` of them at once. */
export interface AtOnce {
  id: string;
  title: string;
  concurrency: number;
  httpPerSecond: number;
  floorPerSecond: number;
  /** Of all rounds over HTTP. */
  p95: number;
}

/** Rounds over HTTP and of the floor in turn. */
export async function measureAtOnce(service: Service, options: Options): Promise<AtOnce[]> {
  const results: AtOnce[] = [];
  const cases = service.cases().filter(({ id }) => CASES.includes(id));
  for (const benchmarkCase of cases)
    for (const concurrency of AT_ONCE) {
      if (!wants(options, `at-once-${concurrency}-${benchmarkCase.id}`)) continue;
      progress(`${benchmarkCase.title}, ${concurrency} at once`);
      const took: number[] = [];
      const http = async () => {
        const round = await service.httpRound(benchmarkCase, concurrency, ROUND_MS);
        took.push(...round);
        return round.length / (ROUND_MS / 1000);
      };
      const floor = async () =>
        (await service.floorRound(benchmarkCase, concurrency, ROUND_MS)).length / (ROUND_MS / 1000);
      const rounds = Math.max(3, Math.round(options.budgetMs / ROUND_MS));
      const [httpPerSecond = NaN, floorPerSecond = NaN] = await inTurn([http, floor], rounds);
      results.push({
        id: benchmarkCase.id,
        title: benchmarkCase.title,
        concurrency,
        httpPerSecond,
        floorPerSecond,
        p95: computeStats(took).p95,
      });
    }
  return results;
}
