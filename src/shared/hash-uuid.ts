import { hash } from 'node:crypto';

const VARIANTS = '89ab';

/** A UUID of version 8 (RFC 9562, section 5.8) made of the SHA-256 of a text or of bytes; deterministic. */
export function hashUuid(text: string | Buffer): string {
  return hexToUuid(hash('sha256', text));
}

/** A UUID of version 8 made of the first 32 hex digits of a hash. */
export function hexToUuid(hex: string): string {
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
