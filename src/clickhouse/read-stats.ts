/** What was read of the store's tables, as the engine counts it. Bytes are those of columns, uncompressed. */
export interface Reads {
  rows: number;
  bytes: number;
}

/** Lives as long as the request's signal does. */
const ofRequests = new WeakMap<AbortSignal, Reads>();

/**
 * What the queries of a request have read so far. A request is known by its patience, which whatever asks the store on its
 * behalf has already.
 */
export function readsOf(patience: AbortSignal | undefined): Reads {
  return (patience && ofRequests.get(patience)) ?? { rows: 0, bytes: 0 };
}

/** Counts what a query read as the request's. */
export function addReads(patience: AbortSignal, { rows, bytes }: Reads): void {
  const sum = ofRequests.get(patience);
  if (!sum) ofRequests.set(patience, { rows, bytes });
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

/** What a query read, by the summary in the head of a server's answer; nothing where there is none. */
export function readsIn(headers: Readonly<Record<string, unknown>>): Reads {
  const summary = headers[SUMMARY];
  if (typeof summary !== 'string') return readsOfSummary(undefined);
  try {
    return readsOfSummary(JSON.parse(summary) as Summary);
  } catch {
    return readsOfSummary(undefined);
  }
}

/** The same by the summary itself. */
export function readsOfSummary({ read_rows, read_bytes }: Summary = {}): Reads {
  return { rows: count(read_rows), bytes: count(read_bytes) };
}

function count(value: unknown): number {
  const number = Number(value);
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
