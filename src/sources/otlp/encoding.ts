import type { DescField, DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { ScalarType, fromBinary, fromJson, toBinary, toJsonString } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { Request } from 'express';
import { isLosslessNumber } from 'lossless-json';
import { parseExact } from '../../shared/json/exact-json.js';
import { InvalidRecordError, explainFailure } from '../../records/decoding/decoders.js';
import { MAX_VALUES, hasMoreValues, tooManyValues } from '../../records/limits.js';

/** The two encodings of OTLP/HTTP. */
export const MEDIA_TYPES = { protobuf: 'application/x-protobuf', json: 'application/json' } as const;

export type Encoding = keyof typeof MEDIA_TYPES;

/** Deepest nesting of messages. */
const MAX_DEPTH = 100;
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
/** The wire types of scalars that are not varints. */
const WIRE_TYPES: Partial<Record<ScalarType, WireType>> = {
  [ScalarType.DOUBLE]: WireType.Bit64,
  [ScalarType.FIXED64]: WireType.Bit64,
  [ScalarType.SFIXED64]: WireType.Bit64,
  [ScalarType.FLOAT]: WireType.Bit32,
  [ScalarType.FIXED32]: WireType.Bit32,
  [ScalarType.SFIXED32]: WireType.Bit32,
  [ScalarType.STRING]: WireType.LengthDelimited,
  [ScalarType.BYTES]: WireType.LengthDelimited,
};

/** The encoding that the `Content-Type` of a request names; undefined for any other type. */
export function findEncoding(request: Request): Encoding | undefined {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  return (Object.keys(MEDIA_TYPES) as Encoding[]).find((encoding) => MEDIA_TYPES[encoding] === type);
}

/**
 * Decodes a message. Unknown fields are skipped; an empty body is a message without fields.
 *
 * @throws InvalidRecordError if it is invalid, too deep, or has too many values
 */
export function decode<Desc extends DescMessage>(
  schema: Desc,
  bytes: Buffer,
  encoding: Encoding,
): MessageShape<Desc> {
  try {
    if (encoding === 'json') return decodeJson(schema, bytes);
    // A value has at least a byte.
    if (bytes.length > MAX_VALUES && new ValueCounter(bytes).count(schema) > MAX_VALUES)
      throw tooManyValues();
    return fromBinary(schema, bytes, { readUnknownFields: false, recursionLimit: MAX_DEPTH });
  } catch (error) {
    if (error instanceof InvalidRecordError || encoding === 'json') throw error;
    // The decoder's errors name fields and offsets, never values.
    throw new InvalidRecordError(`body: ${error instanceof Error ? error.message : 'cannot be decoded'}`);
  }
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
  const text = bytes.toString();
  if (hasMoreValues(text, MAX_VALUES)) throw tooManyValues();
  let json: JsonValue;
  try {
    json = toProtobufJson(parseExact(text), listLongNames(schema));
  } catch (error) {
    throw new InvalidRecordError(explainFailure(error, 'body'));
  }
  try {
    return fromJson(schema, json, { ignoreUnknownFields: true });
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidRecordError('body: nested too deeply');
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

/** Names of the 64-bit integer fields of a message and its nested messages, as the decoder accepts them. */
function listLongNames(schema: DescMessage, names = new Set<string>(), seen = new Set<DescMessage>()) {
  if (seen.has(schema)) return names;
  seen.add(schema);
  for (const field of schema.fields) {
    if (field.message) listLongNames(field.message, names, seen);
    if (field.scalar !== undefined && LONG_TYPES.has(field.scalar)) names.add(field.name).add(field.jsonName);
  }
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

/** Counts the messages and list items that the decoder would make of a body; stops beyond the limit. */
class ValueCounter {
  private readonly reader: BinaryReader;

  constructor(private readonly bytes: Buffer) {
    this.reader = new BinaryReader(bytes);
  }

  count(schema: DescMessage, end = this.bytes.length, depth = 0): number {
    if (depth > MAX_DEPTH) throw new InvalidRecordError('body: nested too deeply');
    let values = 1;
    while (this.reader.pos < end && values <= MAX_VALUES) {
      const [number, wireType] = this.reader.tag();
      const field = schema.fields.find((candidate) => candidate.number === number);
      if (!field) this.reader.skip(wireType, number);
      // Like the decoder, which reads a message for every wire type: otherwise messages could hide from this
      // count.
      else if (field.message) values += this.count(field.message, this.readEnd(), depth + 1);
      else values += this.countScalars(field, wireType);
    }
    return values;
  }

  /** Counts the items of a list, which may be packed; 0 for a single scalar. */
  private countScalars({ fieldKind, scalar, number }: DescField, wireType: WireType): number {
    const scalarType = (scalar !== undefined ? WIRE_TYPES[scalar] : undefined) ?? WireType.Varint;
    const isPacked = wireType === WireType.LengthDelimited && scalarType !== WireType.LengthDelimited;
    if (fieldKind !== 'list' || !isPacked) {
      this.reader.skip(scalarType, number);
      return fieldKind === 'list' ? 1 : 0;
    }
    const end = this.readEnd();
    const packed = this.bytes.subarray(this.reader.pos, end);
    this.reader.pos = end;
    return scalarType === WireType.Varint
      ? countVarints(packed)
      : packed.length / (scalarType === WireType.Bit64 ? 8 : 4);
  }

  /** The end of a length-delimited field. */
  private readEnd(): number {
    const length = this.reader.uint32();
    return this.reader.pos + length;
  }
}

/** The last byte of a varint is below 128. */
function countVarints(bytes: Buffer): number {
  let varints = 0;
  for (let at = 0; at < bytes.length && varints <= MAX_VALUES; at++) if ((bytes[at] ?? 0) < 128) varints += 1;
  return varints;
}
