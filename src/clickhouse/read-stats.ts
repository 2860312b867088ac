/** Rows and bytes read from tables, as the engine counts them. Bytes are those of columns, uncompressed. */
export interface ReadStats {
  rows: number;
  bytes: number;
}

/** Entries live as long as the request's signal. */
const statsBySignal = new WeakMap<AbortSignal, ReadStats>();

/**
 * Read statistics of a request's queries so far. Keyed by the request's AbortSignal, which every query of the request
 * carries.
 */
export function getReadStats(signal: AbortSignal | undefined): ReadStats {
  return (signal && statsBySignal.get(signal)) ?? { rows: 0, bytes: 0 };
}

/** Adds a query's read statistics to its request. */
export function addReadStats(signal: AbortSignal, { rows, bytes }: ReadStats): void {
  const sum = statsBySignal.get(signal);
  if (!sum) statsBySignal.set(signal, { rows, bytes });
  else {
    sum.rows += rows;
    sum.bytes += bytes;
  }
}

const SUMMARY = 'x-clickhouse-summary';

interface Summary {
  read_rows?: unknown;
  read_bytes?: unknown;
}

/** Read statistics of a query from the `X-ClickHouse-Summary` header; zero without it. */
export function parseSummaryHeader(headers: Readonly<Record<string, unknown>>): ReadStats {
  const summary = headers[SUMMARY];
  if (typeof summary !== 'string') return parseSummary(undefined);
  try {
    return parseSummary(JSON.parse(summary) as Summary);
  } catch {
    return parseSummary(undefined);
  }
}

/** The same from the parsed summary. */
export function parseSummary({ read_rows, read_bytes }: Summary = {}): ReadStats {
  return { rows: count(read_rows), bytes: count(read_bytes) };
}

function count(value: unknown): number {
  const number = Number(value);
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
