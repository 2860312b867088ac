import type { Case } from '../cases/case.js';
import { type Subject, interleave } from '../load/interleave.js';
import type { Stats } from '../load/stats.js';
import { type Options, wants } from '../options.js';
import type { Peers } from '../peers/peers.js';
import { progress } from '../report/progress.js';
import type { Service } from '../service.js';

type Samples = Partial<Record<string, Stats>>;

/** Far enough apart that no two comparisons of a case ask the same variant. */
const VARIANTS_APART = 100_000;

/**
 * One operation, measured. Each comparison has turns of its own: a third party would empty the caches of the
 * two.
 */
export interface Operation {
  id: string;
  title: string;
  /** Records in the response. */
  records: number;
  /** `http` and `floor`. */
  stats: Samples;
  /** `http` and `small`: HTTP over the small data set. */
  besideSmall: Samples;
  /** `floor`, `postgres` and `duckdb`. */
  besidePeers: Samples;
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
  const http = service.http(one);
  const floor = await service.floor(one);
  const others = peers?.subjects(one) ?? [];
  const { records, differences } = await compared(service, peers, one);
  const beside = async (subjects: Subject[], nth: number): Promise<Samples> =>
    subjects.length < 2 ? {} : interleave(subjects, budgetMs, nth * VARIANTS_APART);
  const smaller = small && smallCase ? [http, small.http(smallCase, 'small')] : [];
  return {
    id: one.id,
    title: one.title,
    records,
    stats: await beside([http, floor], 0),
    besideSmall: await beside(smaller, 1),
    besidePeers: await beside(others.length > 0 ? [floor, ...others] : [], 2),
    differences,
  };
}

/** Whether all responses have the same number of rows; the service's own has one less where more follow. */
async function compared(service: Service, peers: Peers | undefined, one: Case) {
  const text = await service.get(one.paths[0]?.replace('{start}', formatStart(one)) ?? '', one.body);
  // Metrics come as a line for each row.
  if (one.body) return { records: text.split('\n').length - 1, differences: '' };
  const response = JSON.parse(text) as { data?: unknown[]; has_more?: boolean };
  const records = response.data?.length ?? 1;
  if (!one.peer) return { records, differences: '' };
  const rows = [
    records + (response.has_more ? 1 : 0),
    await service.floorRows(one),
    ...((await peers?.rows(one)) ?? []),
  ];
  return { records, differences: new Set(rows).size === 1 ? '' : rows.join(' / ') };
}

function formatStart({ start = 0 }: Case): string {
  return new Date(start).toISOString();
}
