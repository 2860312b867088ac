/** UUIDs of one lookup: a server accepts parameters of 128 KiB. */
export const LOOKUP_SIZE = 3_000;

/** Splits values into parts that each fit into one statement. */
export function chunkForLookup<T>(values: readonly T[]): Generator<T[]> {
  return chunk(values, LOOKUP_SIZE);
}

/** Splits values into parts of the given size. */
export function* chunk<T>(values: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < values.length; from += size) yield values.slice(from, from + size);
}
