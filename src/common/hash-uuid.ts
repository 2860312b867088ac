import { hash } from 'node:crypto';

/** A UUID of version 8 (RFC 9562, section 5.8) made of the SHA-256 of a text or of bytes; deterministic. */
export function hashUuid(text: string | Buffer): string {
  const hex = hash('sha256', text);
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
