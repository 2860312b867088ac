import { hash, randomInt, timingSafeEqual } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const FORM = /^([A-Za-z0-9]{7})\.[A-Za-z0-9]{32}$/;

/** A new key: a public identifier, a dot, a secret of 190 bits (docs/contract.md#key-form). */
export function createApiKey(): string {
  return `${randomText(7)}.${randomText(32)}`;
}

/** The public part of a key; undefined when the text does not have a key's form. */
export function parseIdentifier(key: string): string | undefined {
  return FORM.exec(key)?.[1];
}

/** The stored form of a key: SHA-256 of the whole key, lower-case hex. */
export function hashApiKey(key: string): string {
  return hash('sha256', key);
}

/** Compares the key with the stored hash in constant time. */
export function matchesHash(key: string, keySha256: string): boolean {
  const expected = Buffer.from(keySha256, 'hex');
  const actual = hash('sha256', key, 'buffer');
  return expected.length === actual.length && timingSafeEqual(actual, expected);
}

export function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}
