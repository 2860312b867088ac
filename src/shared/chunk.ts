/**
 * Number of values in one lookup. This many UUIDs fit into every statement, also one that changes data
 * (`max_query_size`, 256 KiB).
 */
export const LOOKUP_SIZE = 5_000;

/** Splits values into parts that each fit into one statement. */
export function chunkForLookup<T>(values: readonly T[]): Generator<T[]> {
  return chunk(values, LOOKUP_SIZE);
}

/** Splits values into parts of the given size. */
export function* chunk<T>(values: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < values.length; from += size) yield values.slice(from, from + size);
}

/**
 * Splits texts into parts of at most `maxLength` characters; a longer text is a part of its own.
 * @param perText characters that each text takes in addition
 */
export function* chunkBySize(texts: Iterable<string>, maxLength: number, perText = 0): Generator<string[]> {
  let part: string[] = [];
  let size = 0;
  for (const text of texts) {
    if (part.length > 0 && size + text.length > maxLength) {
      yield part;
      part = [];
      size = 0;
    }
    part.push(text);
    size += text.length + perText;
  }
  if (part.length > 0) yield part;
}
