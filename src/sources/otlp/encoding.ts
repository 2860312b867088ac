import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { ScalarType, fromBinary, fromJson, toBinary, toJsonString } from '@bufbuild/protobuf';
import { isLosslessNumber } from 'lossless-json';
import type { IncomingBody } from '../../platform/http/request-body.js';
import { parseExact } from '../../shared/json/exact-json.js';
import { InvalidRecordError, explainFailure } from '../../records/decoding/decoders.js';
import { hasMoreValues } from '../../records/limits.js';
import { MAX_DEPTH, countWireValues } from './wire.js';

/** The two encodings of OTLP/HTTP. */
export const OTLP_MEDIA_TYPES = { protobuf: 'application/x-protobuf', json: 'application/json' } as const;

export type Encoding = keyof typeof OTLP_MEDIA_TYPES;

/** Longest text of a 64-bit integer: a conversion of 60 million digits took 25 seconds. */
const MAX_DIGITS = 20;
const NANOSECONDS_IN_MS = 1_000_000n;
/** Fields that are hex in OTLP's JSON, but base64 in protobuf's JSON mapping. */
const IDS = new Set(['traceId', 'spanId', 'parentSpanId']);
const LONG_TYPES = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
  ScalarType.SINT64,
]);

/** The encoding that the `Content-Type` of a request names; undefined for any other type. */
export function findEncoding(request: Pick<IncomingBody, 'headers'>): Encoding | undefined {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  return (Object.keys(OTLP_MEDIA_TYPES) as Encoding[]).find(
    (encoding) => OTLP_MEDIA_TYPES[encoding] === type,
  );
}

/**
 * Decodes a message that is known to be small. Unknown fields are skipped; an empty one has no fields.
 *
 * @throws InvalidRecordError if it is invalid, or too deep
 */
export function decodeMessage<Desc extends DescMessage>(
  schema: Desc,
  bytes: Buffer,
  encoding: Encoding,
): MessageShape<Desc> {
  try {
    return encoding === 'json'
      ? decodeJson(schema, bytes)
      : fromBinary(schema, bytes, { readUnknownFields: false, recursionLimit: MAX_DEPTH });
  } catch (error) {
    throw explain(error, encoding);
  }
}

/**
 * Whether the decoder would make more values of a message: messages, nested ones included, and items of
 * lists.
 */
export function hasMoreValuesThan(
  max: number,
  schema: DescMessage,
  bytes: Buffer,
  encoding: Encoding,
): boolean {
  // A value has at least a byte.
  if (bytes.length <= max) return false;
  if (encoding === 'json') return hasMoreValues(bytes.toString(), max);
  try {
    return countWireValues(schema, bytes, max) > max;
  } catch (error) {
    throw explain(error, encoding);
  }
}

const acceptsAnyText = new WeakSet<DescMessage>();

/**
 * Makes the bytes of a text that are not UTF-8 become U+FFFD when protobuf is decoded, as they do in JSON.
 * The decoder would reject the whole message, and SDKs of C++ and Rust write what a client sends. To be
 * called before anything is decoded.
 */
export function acceptAnyText(schema: DescMessage): void {
  if (acceptsAnyText.has(schema)) return;
  acceptsAnyText.add(schema);
  for (const field of schema.fields) {
    Object.assign(field, { utf8Validation: false });
    if (field.message) acceptAnyText(field.message);
  }
}

/** What to throw in place of what a decoder throws. */
export function explain(error: unknown, encoding: Encoding): Error {
  if (error instanceof InvalidRecordError) return error;
  if (encoding === 'json') return new InvalidRecordError(explainFailure(error, 'body'));
  // The decoder's errors name fields and offsets, never values.
  return new InvalidRecordError(`body: ${error instanceof Error ? error.message : 'cannot be decoded'}`);
}

export function encode<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  encoding: Encoding,
): Buffer {
  return Buffer.from(encoding === 'json' ? toJsonString(schema, message) : toBinary(schema, message));
}

function decodeJson<Desc extends DescMessage>(schema: Desc, bytes: Buffer): MessageShape<Desc> {
  if (bytes.length === 0) return fromBinary(schema, bytes);
  const json = toProtobufJson(parseExact(bytes.toString()), findLongNames(schema));
  try {
    return fromJson(schema, json, { ignoreUnknownFields: true });
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new InvalidRecordError(`body: ${findFieldFault(error) ?? 'cannot be decoded'}`);
  }
}

/**
 * The decoder's message about the field, without the value after it: the value may be a secret and would be
 * logged.
 */
function findFieldFault(error: unknown): string | undefined {
  return error instanceof Error ? /^cannot decode [\w. ]+ from JSON/.exec(error.message)?.[0] : undefined;
}

/**
 * Converts OTLP's JSON to protobuf's JSON mapping: IDs in base64, and integers beyond 2^53 as text.
 *
 * @param longNames of fields that are 64-bit integers
 * @throws InvalidRecordError if such an integer is too long
 */
function toProtobufJson(value: unknown, longNames: ReadonlySet<string>, name = ''): JsonValue {
  if (typeof value === 'string') {
    if (value.length > MAX_DIGITS && longNames.has(name))
      throw new InvalidRecordError(`body: ${name}: must be a 64-bit integer`);
    return IDS.has(name) ? fromHex(value) : value;
  }
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  if (isLosslessNumber(value)) {
    const isInteger = value.value.length <= MAX_DIGITS && /^-?\d+$/.test(value.value);
    return isInteger ? value.value : Number(value.value);
  }
  if (Array.isArray(value)) return value.map((item) => toProtobufJson(item, longNames, name));
  const members: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) {
    const converted = toProtobufJson(member, longNames, key);
    members[key === 'intValue' && isBeyondInt64(converted) ? 'doubleValue' : key] = converted;
  }
  return members;
}

/**
 * Whether a number is beyond 64 bits: JavaScript's SDK calls every number without a fraction an integer, such
 * as 1e300.
 */
function isBeyondInt64(value: JsonValue): boolean {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value));
  if (!isNumber || !Number.isInteger(Number(value))) return false;
  const integer = BigInt(value);
  return BigInt.asIntN(64, integer) !== integer;
}

const longNames = new Map<DescMessage, ReadonlySet<string>>();

/**
 * Names of the fields of a message, nested ones included, that are 64-bit integers, as the decoder accepts
 * them.
 */
function findLongNames(schema: DescMessage): ReadonlySet<string> {
  const remembered = longNames.get(schema);
  if (remembered) return remembered;
  const names = new Set<string>();
  longNames.set(schema, names);
  const seen = new Set<DescMessage>();
  const add = (message: DescMessage) => {
    if (seen.has(message)) return;
    seen.add(message);
    for (const field of message.fields) {
      if (field.message) add(field.message);
      if (field.scalar !== undefined && LONG_TYPES.has(field.scalar))
        names.add(field.name).add(field.jsonName);
    }
  };
  add(schema);
  return names;
}

/** Hex digits as base64; empty if they are invalid, so that the span is rejected, not the message. */
function fromHex(digits: string): string {
  return /^(?:[0-9a-f]{2})*$/i.test(digits) ? Buffer.from(digits, 'hex').toString('base64') : '';
}

/** The hex digits of an ID. */
export function toHex(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex');
}

/** Whether an ID has `bytes` bytes, not all zero: 16 for a trace, 8 for a span. */
export function isValidId(id: Uint8Array, bytes: 8 | 16): boolean {
  return id.length === bytes && id.some((byte) => byte !== 0);
}

/** Whole milliseconds since the Unix epoch. */
export function toMilliseconds(epochNs: bigint): number {
  return Number(epochNs / NANOSECONDS_IN_MS);
}
