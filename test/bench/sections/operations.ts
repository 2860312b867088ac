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
  /** Rows that are not alike; empty where all are. */
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
  for (const benchmarkCase of cases.filter(({ excluded }) => !excluded))
    results.push(await measure(subjects, benchmarkCase, options.budgetMs));
  const withExcluded = cases.filter(({ excluded }) => excluded);
  if (withExcluded.length === 0) return results;
  const services = [subjects.service, ...(subjects.small ? [subjects.small] : [])];
  await Promise.all(services.map((service) => service.mark(true)));
  for (const benchmarkCase of withExcluded)
    results.push(await measure(subjects, benchmarkCase, options.budgetMs));
  await Promise.all(services.map((service) => service.mark(false)));
  return results;
}

async function measure(
  { service, small, peers }: Subjects,
  benchmarkCase: Case,
  budgetMs: number,
): Promise<Operation> {
  progress(benchmarkCase.title);
  const smallCase = small?.cases().find(({ id }) => id === benchmarkCase.id);
  const http = service.http(benchmarkCase);
  const floor = await service.floor(benchmarkCase);
  const others = peers?.subjects(benchmarkCase) ?? [];
  const { records, differences } = await compareRows(service, peers, benchmarkCase);
  const beside = async (subjects: Subject[], nth: number): Promise<Samples> =>
    subjects.length < 2 ? {} : interleave(subjects, budgetMs, nth * VARIANTS_APART);
  const smaller = small && smallCase ? [http, small.http(smallCase, 'small')] : [];
  return {
    id: benchmarkCase.id,
    title: benchmarkCase.title,
    records,
    stats: await beside([http, floor], 0),
    besideSmall: await beside(smaller, 1),
    besidePeers: await beside(others.length > 0 ? [floor, ...others] : [], 2),
    differences,
  };
}

/** Compares the service's records with the rows of the engine alone and of the peers. */
async function compareRows(service: Service, peers: Peers | undefined, benchmarkCase: Case) {
  const text = await service.get(
    benchmarkCase.paths[0]?.replace('{start}', formatStart(benchmarkCase)) ?? '',
    benchmarkCase.body,
  );
  const records = readRecords(text, benchmarkCase);
  const rows = records.map((record) => benchmarkCase.compared.map((name) => String(record[name])));
  const engine = await service.floorText(benchmarkCase);
  const missing = rows.flat().find((value) => !engine.includes(value));
  const differences = missing === undefined ? [] : [`the engine alone has no ${missing}`];
  for (const { name, rows: others } of (await peers?.rows(benchmarkCase)) ?? [])
    differences.push(...describeDifference(rows, name, others));
  return { records: records.length, differences: differences.join('; ') };
}

function readRecords(text: string, { body, compared }: Case): readonly Record<string, unknown>[] {
  if (compared.length === 0) return [];
  // Metrics come as a line for each row.
  const lines = body ? text.split('\n').filter((line) => line !== '') : [text];
  const values = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const [first] = values;
  return Array.isArray(first?.data) ? (first.data as Record<string, unknown>[]) : values;
}

/** Peers answer one row more than the page where more follow. */
function describeDifference(rows: string[][], name: string, others: string[][]): string[] {
  const isPage = others.length === rows.length || others.length === rows.length + 1;
  if (!isPage) return [`${rows.length} rows / ${name} ${others.length}`];
  const index = rows.findIndex((row, nth) => row.join() !== others[nth]?.join());
  return index < 0 ? [] : [`row ${index}: ${rows[index]?.join()} / ${name} ${others[index]?.join()}`];
}

function formatStart({ start = 0 }: Case): string {
  return new Date(start).toISOString();
}
