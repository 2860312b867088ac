import type { Case } from '../cases/case.js';
import { type Options, wants } from '../options.js';
import { interleave } from '../load/interleave.js';
import type { Stats } from '../load/stats.js';
import type { Peers } from '../peers/peers.js';
import { progress } from '../report/progress.js';
import type { Service } from '../service.js';

/** One operation, measured. */
export interface Operation {
  id: string;
  title: string;
  /** Records in the answer. */
  records: number;
  /** `http`, `floor`, and where they were asked `small` (HTTP, the small data set), `postgres`, `duckdb`. */
  stats: Partial<Record<string, Stats>>;
  /** Rows that did not come out alike; empty when all is well. */
  differences: string;
}

interface Subjects {
  service: Service;
  /** The same service over the small data set. */
  small: Service | undefined;
  peers: Peers | undefined;
}

/** Every operation against all that it is compared with; those with excluded endpoints at the end. */
export async function measureOperations(subjects: Subjects, options: Options): Promise<Operation[]> {
  const cases = subjects.service.cases().filter(({ id }) => wants(options, id));
  const results: Operation[] = [];
  for (const one of cases.filter(({ excluded }) => !excluded))
    results.push(await measure(subjects, one, options.budgetMs));
  const withExcluded = cases.filter(({ excluded }) => excluded);
  if (withExcluded.length === 0) return results;
  const services = [subjects.service, ...(subjects.small ? [subjects.small] : [])];
  await Promise.all(services.map((service) => service.mark(true)));
  for (const one of withExcluded) results.push(await measure(subjects, one, options.budgetMs));
  await Promise.all(services.map((service) => service.mark(false)));
  return results;
}

async function measure({ service, small, peers }: Subjects, one: Case, budgetMs: number): Promise<Operation> {
  progress(one.title);
  const smallCase = small?.cases().find(({ id }) => id === one.id);
  const subjects = [
    service.http(one),
    await service.floor(one),
    ...(small && smallCase ? [small.http(smallCase, 'small')] : []),
    ...(peers?.subjects(one) ?? []),
  ];
  const { records, differences } = await compared(service, peers, one);
  const stats = await interleave(subjects, budgetMs);
  return { id: one.id, title: one.title, records, stats, differences };
}

/** Whether all answers have the same number of rows; the service's own has one less where more follow. */
async function compared(service: Service, peers: Peers | undefined, one: Case) {
  const answer = JSON.parse(await service.get(one.paths[0]?.replace('{start}', startOf(one)) ?? '')) as {
    data?: unknown[];
    has_more?: boolean;
  };
  const records = answer.data?.length ?? 1;
  if (!one.peer) return { records, differences: '' };
  const rows = [
    records + (answer.has_more ? 1 : 0),
    await service.floorRows(one),
    ...((await peers?.rows(one)) ?? []),
  ];
  return { records, differences: new Set(rows).size === 1 ? '' : rows.join(' / ') };
}

function startOf({ start = 0 }: Case): string {
  return new Date(start).toISOString();
}
