/** Rows and bytes read from tables, as the engine counts them. Bytes are uncompressed bytes of columns. */
export interface ReadStats {
  rows: number;
  bytes: number;
}

interface Summary {
  read_rows?: unknown;
  read_bytes?: unknown;
}

/** Parses the engine's summary in JSON (`X-ClickHouse-Summary`); zero without a summary. */
export function parseSummary(summary: Summary | null | undefined): ReadStats {
  const { read_rows, read_bytes } = summary ?? {};
  return { rows: count(read_rows), bytes: count(read_bytes) };
}

function count(value: unknown): number {
  const number = Number(value);
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
