import { parseUuid } from '../../platform/input/uuid.js';
import type { ConsumerRecord } from '../../records/request-record.js';
import {
  type Decoder,
  type LenientReader,
  createDecoder,
  createIntegerDecoder,
  createRoundedDecoder,
  createTextDecoder,
  isAbsent,
  objectDecoder,
  textOrNumberDecoder,
  toStrictDecoder,
} from '../../records/decoding/decoders.js';
import { MAX_CONSUMER_ATTRIBUTES } from '../../records/names/consumer-attributes.js';
import { MAX_URL, METHOD_RULE, isLongerThan, normalizeMethod, trimAndTruncate } from '../../records/text.js';

/** Longest texts of a consumer, in code points, as in the public client libraries. */
export const MAX_IDENTIFIER = 128;
const MAX_NAME = 64;
const MAX_ATTRIBUTE = 1_024;
/** Response times have 32 bits in the store. */
const MAX_RESPONSE_TIME_MS = 2 ** 32 - 1;
/** 16 TiB: no request or response is larger, and a million of that size still have an exact sum. */
const MAX_MESSAGE_BYTES = 2 ** 44;

/** Three digits, as in the filter: Node can send all of them, also above 599. */
export const statusCodeDecoder = createIntegerDecoder(100, 999);
/** Bytes of one request or one response. */
export const sizeDecoder = createIntegerDecoder(0, MAX_MESSAGE_BYTES);
/** Total bytes of several requests or responses. */
export function createSizeSumDecoder(requests: number): Decoder<number> {
  return createIntegerDecoder(0, Math.min(requests * MAX_MESSAGE_BYTES, Number.MAX_SAFE_INTEGER));
}
/** Milliseconds, rounded. */
export const responseTimeDecoder = createRoundedDecoder(0, MAX_RESPONSE_TIME_MS);

/** A URL; a URL that is too long is invalid, not truncated. */
export const urlDecoder = createTextDecoder(`must have 1 to ${MAX_URL} characters`, (url) =>
  url === '' || isLongerThan(url, MAX_URL) ? undefined : url,
);

/** An HTTP method, in upper case. */
export const methodDecoder = createTextDecoder(METHOD_RULE, (text) => normalizeMethod(text) ?? undefined);

/** A UUID in any spelling, as lower-case hex with hyphens. */
export const uuidDecoder = createTextDecoder('must be a UUID', (text) => {
  const uuid = parseUuid(text);
  return typeof uuid === 'string' ? uuid : undefined;
});

/** The name of an environment, as the client libraries allow it. */
export const envDecoder = createTextDecoder(
  'must be 1 to 32 letters, digits, hyphens or underscores',
  (env) => (/^[\w-]{1,32}$/.test(env) ? env : undefined),
);

/** A consumer's identifier: trimmed, truncated, not empty. */
export const identifierDecoder = createTextDecoder(
  'must not be empty',
  (text) => trimAndTruncate(text, MAX_IDENTIFIER) || undefined,
);

/** An identifier that may be a number. */
const looseIdentifierDecoder = createDecoder('must not be empty', (value) =>
  identifierDecoder.decode(textOrNumberDecoder.decode(value)),
);

/** An attribute of a consumer: a scalar as text; empty to remove it. */
const attributeDecoder = createDecoder('must be a string, a number or a boolean', (value) => {
  const text = typeof value === 'boolean' ? String(value) : textOrNumberDecoder.decode(value);
  return text === undefined ? undefined : trimAndTruncate(text, MAX_ATTRIBUTE);
});

/** The name of a consumer or of a group: trimmed, truncated, empty for none. */
const labelDecoder = createTextDecoder('must be a string', (text) => trimAndTruncate(text, MAX_NAME));

export const decodeStatusCode = toStrictDecoder(statusCodeDecoder);
export const decodeUrl = toStrictDecoder(urlDecoder);
export const decodeMethod = toStrictDecoder(methodDecoder);
export const decodeUuid = toStrictDecoder(uuidDecoder);
export const decodeEnv = toStrictDecoder(envDecoder);

/**
 * A consumer: its identifier, which may be a number, or an object of `identifier`, `name`,
 * `group` and `attributes`. Invalid ones of these are left out; without an identifier there is no consumer.
 */
export function readConsumer(value: unknown, name: string, reader: LenientReader): ConsumerRecord | null {
  const source = objectDecoder.decode(value);
  const identifier = reader.read(source ? (source.identifier ?? '') : value, name, looseIdentifierDecoder);
  if (identifier === null) return null;
  const label = reader.read(source?.name, `${name}.name`, labelDecoder);
  const group = reader.read(source?.group, `${name}.group`, labelDecoder);
  const attributes = readAttributes(source?.attributes, `${name}.attributes`, reader);
  return {
    identifier,
    ...(label ? { name: label } : {}),
    ...(group ? { group } : {}),
    ...(attributes ? { attributes } : {}),
  };
}

/** Changes of a consumer's attributes, as JSON text; empty if there are none. */
function readAttributes(value: unknown, name: string, reader: LenientReader): string {
  const changes: [string, string | null][] = [];
  for (const [key, given] of Object.entries(reader.read(value, name, objectDecoder) ?? {})) {
    const text = isAbsent(given) ? '' : reader.read(given, name, attributeDecoder);
    const label = labelDecoder.decode(key) ?? '';
    if (text === null) continue;
    if (label === '' || changes.length === MAX_CONSUMER_ATTRIBUTES) reader.ignored.push(name);
    else changes.push([label, text === '' ? null : text]);
  }
  return changes.length === 0 ? '' : JSON.stringify(Object.fromEntries(changes));
}
