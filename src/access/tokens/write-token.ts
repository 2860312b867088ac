import { randomText } from '../keys/api-key.js';

const FORM = /^apt_([A-Za-z0-9]{8})[A-Za-z0-9]{16}$/;
const BEGINNING = /^apt_([A-Za-z0-9]{8})/;

/** A new write token: `apt_`, a public identifier of 8 characters and a secret of 95 bits. */
export function createWriteToken(): string {
  return `apt_${randomText(24)}`;
}

/** The identifier of a token; undefined if the text does not have the form of a token. */
export function findTokenIdentifier(token: string): string | undefined {
  return FORM.exec(token)?.[1];
}

/** The identifier in an argument of the command line, which may by mistake be a whole token. */
export function describeTokenIdentifier(argument: string): string {
  if (/^[A-Za-z0-9]{8}$/.test(argument)) return argument;
  return BEGINNING.exec(argument)?.[1] ?? 'malformed';
}
