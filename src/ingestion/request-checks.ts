import { parseUuid } from '../common/validation/uuid.js';
import { Rejection, asObject, asText, integerFrom, optional, roundedFrom } from './checks.js';
import type { ConsumerRecord } from './request-record.js';
import { MAX_URL, cut, exceeds, methodOf } from './text.js';

/** Longest texts of a consumer, in code points; the public client libraries cut there too. */
const MAX_IDENTIFIER = 128;
const MAX_NAME = 64;
/** The store keeps response times in 32 bits. */
const MAX_RESPONSE_TIME_MS = 2 ** 32 - 1;

export const asStatusCode = integerFrom(100, 599);
/** Bytes. */
export const asSize = integerFrom(0, Number.MAX_SAFE_INTEGER);
/** Milliseconds, rounded. */
export const asResponseTime = roundedFrom(0, MAX_RESPONSE_TIME_MS);

/** A URL, whole: one that is too long is rejected. */
export function asUrl(value: unknown, name: string): string {
  const url = asText(value, name);
  if (url === '' || exceeds(url, MAX_URL))
    throw new Rejection(`${name}: must have 1 to ${MAX_URL} characters`);
  return url;
}

/** An HTTP method, in upper case. */
export function asMethod(value: unknown, name: string): string {
  const method = methodOf(asText(value, name));
  if (method === null) throw new Rejection(`${name}: must be 1 to 16 letters, hyphens or underscores`);
  return method;
}

/** A UUID in any spelling, as lower-case hex with hyphens. */
export function asUuid(value: unknown, name: string): string {
  const uuid = parseUuid(asText(value, name));
  if (typeof uuid !== 'string') throw new Rejection(`${name}: must be a UUID`);
  return uuid;
}

/** The name of an environment, as the client libraries allow it. */
export function asEnv(value: unknown, name: string): string {
  const env = asText(value, name);
  if (!/^[\w-]{1,32}$/.test(env))
    throw new Rejection(`${name}: must be 1 to 32 letters, digits, hyphens or underscores`);
  return env;
}

/** A consumer's identifier: trimmed, cut, not empty. */
export function asIdentifier(value: unknown, name: string): string {
  const identifier = cut(asText(value, name).trim(), MAX_IDENTIFIER);
  if (identifier === '') throw new Rejection(`${name}: must not be empty`);
  return identifier;
}

/** The name of a consumer or of a group: trimmed, cut, empty for none. */
export function asLabel(value: unknown, name: string): string {
  return cut(asText(value, name).trim(), MAX_NAME);
}

/** A consumer: its identifier, or an object of `identifier`, `name` and `group`. */
export function asConsumer(value: unknown, name: string): ConsumerRecord {
  if (typeof value === 'string') return { identifier: asIdentifier(value, name) };
  const source = asObject(value, name);
  const identifier = asIdentifier(source.identifier, `${name}.identifier`);
  const label = optional(source.name, `${name}.name`, asLabel);
  const group = optional(source.group, `${name}.group`, asLabel);
  return { identifier, ...(label ? { name: label } : {}), ...(group ? { group } : {}) };
}
