/** Rows and bytes read from tables, as the engine counts them. Bytes are those of columns, uncompressed. */
export interface ReadStats {
  rows: number;
  bytes: number;
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
