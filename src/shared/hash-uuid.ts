import { hash } from 'node:crypto';

const VARIANTS = '89ab';

/** A UUID of version 8 (RFC 9562, section 5.8) made of the SHA-256 of a text or of bytes; deterministic. */
export function hashUuid(text: string | Buffer): string {
  return hexToUuid(hash('sha256', text));
}

/**
 * A UUID of version 8 for a request: 60 bits of a hash, and the request's time. ClickHouse compares the
 * second half of UUIDs first, so this half begins with the time: requests of near times are near each other
 * in a table, and a batch reads one place of it. Only requests of one millisecond need different hashes:
 * among 10,000 of them two have the same with a probability of 1 in 20 billion.
 *
 * @param hex at least 15 digits
 * @param timestamp milliseconds since the Unix epoch; less than 2^48
 */
export function toRequestUuid(hex: string, timestamp: number): string {
  const time = Math.trunc(timestamp).toString(16).padStart(12, '0');
  const hashed = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(12, 15)}`];
  return [...hashed, `8${time.slice(0, 3)}`, `${time.slice(3)}000`].join('-');
}

/** The time in a UUID that `toRequestUuid` made; undefined for UUIDs of other versions. */
export function readRequestTime(uuid: string): number | undefined {
  return uuid.charAt(14) === '8' ? parseInt(uuid.slice(20, 23) + uuid.slice(24, 33), 16) : undefined;
}

/** A UUID of version 8 made of the first 32 hex digits of a hash. */
function hexToUuid(hex: string): string {
  const variant = VARIANTS.charAt(parseInt(hex.charAt(16), 16) & 3);
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  // `join` makes one flat text. A concatenation would stay in memory as a tree of its parts, and a batch has
  // thousands of them.
  return [...groups, hex.slice(20, 32)].join('-');
}
