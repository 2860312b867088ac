import { randomText } from './api-key.js';

const FORM = /^apt_([A-Za-z0-9]{8})[A-Za-z0-9]{16}$/;
const BEGINNING = /^apt_([A-Za-z0-9]{8})/;

/** A new write token: `apt_`, a public identifier of 8 characters and a secret of 95 bits. */
export function createWriteToken(): string {
  return `apt_${randomText(24)}`;
}

/** The public part of a token; undefined when the text does not have a token's form. */
export function findTokenIdentifier(token: string): string | undefined {
  return FORM.exec(token)?.[1];
}

/** The public part of a token as somebody typed it, who may have typed all of it. */
export function describeTokenIdentifier(typed: string): string {
  if (/^[A-Za-z0-9]{8}$/.test(typed)) return typed;
  return BEGINNING.exec(typed)?.[1] ?? 'malformed';
}
