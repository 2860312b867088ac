import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { fromBinary, fromJson, toBinary, toJsonString } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { Request } from 'express';
import { isLosslessNumber } from 'lossless-json';
import { parseExact } from '../../common/json/exact-json.js';
import { InvalidRecordError, explainFailure } from '../../ingestion/formats/decoders.js';
import { hasMoreValues } from '../protocol/json-message.js';

/** The two encodings of OTLP/HTTP. */
export const MEDIA_TYPES = { protobuf: 'application/x-protobuf', json: 'application/json' } as const;

export type Encoding = keyof typeof MEDIA_TYPES;

/** Largest number of messages in a body, nested ones included: an empty one has 2 bytes, and 200 when it is decoded. */
const MAX_MESSAGES = 1_500_000;
/** Deepest nesting of messages. */
const MAX_DEPTH = 100;
const NANOSECONDS_IN_MS = 1_000_000n;
/** Fields that are hex in OTLP's JSON, but base64 in protobuf's JSON mapping. */
const IDS = new Set(['traceId', 'spanId', 'parentSpanId']);

/** The encoding that the `Content-Type` of a request names; undefined for any other type. */
export function findEncoding(request: Request): Encoding | undefined {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  return (Object.keys(MEDIA_TYPES) as Encoding[]).find((encoding) => MEDIA_TYPES[encoding] === type);
}

/**
 * Decodes a message. Unknown fields are skipped; an empty body is a message without fields.
 *
 * @throws InvalidRecordError if it is invalid, too deep, or has too many messages in it
 */
export function decode<Desc extends DescMessage>(
  schema: Desc,
  bytes: Buffer,
  encoding: Encoding,
): MessageShape<Desc> {
  try {
    if (encoding === 'json') return decodeJson(schema, bytes);
    if (bytes.length > 2 * MAX_MESSAGES || bytes.length > 1024 * 1024)
      if (countMessages(schema, new BinaryReader(bytes), bytes.length, 0) > MAX_MESSAGES) throw tooMany();
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
  if (hasMoreValues(text, MAX_MESSAGES)) throw tooMany();
  let json: JsonValue;
  try {
    json = toProtobufJson(parseExact(text));
  } catch (error) {
    throw new InvalidRecordError(explainFailure(error, 'body'));
  }
  try {
    return fromJson(schema, json, { ignoreUnknownFields: true });
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidRecordError('body: nested too deeply');
    throw new InvalidRecordError(
      `body: ${error instanceof Error ? error.message.slice(0, 500) : 'cannot be decoded'}`,
    );
  }
}

/** Converts OTLP's JSON to protobuf's JSON mapping: IDs in base64, and integers beyond 2^53 as text. */
function toProtobufJson(value: unknown, name = ''): JsonValue {
  if (typeof value === 'string') return IDS.has(name) ? fromHex(value) : value;
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  if (isLosslessNumber(value)) return /^-?\d+$/.test(value.value) ? value.value : Number(value.value);
  if (Array.isArray(value)) return value.map((item) => toProtobufJson(item));
  const members: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) members[key] = toProtobufJson(member, key);
  return members;
}

/** Hex digits as base64; empty if they are invalid, so that the span is rejected, not the message. */
function fromHex(digits: string): string {
  return /^(?:[0-9a-f]{2})*$/i.test(digits) ? Buffer.from(digits, 'hex').toString('base64') : '';
}

/** The hex digits of an ID. */
export function toHex(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex');
}

/** Whether an ID has so many bytes, not all of them zero: 16 of a trace, 8 of a span. */
export function isValidId(id: Uint8Array, bytes: 8 | 16): boolean {
  return id.length === bytes && id.some((byte) => byte !== 0);
}

/** Whole milliseconds since the Unix epoch. */
export function toMilliseconds(epochNs: bigint): number {
  return Number(epochNs / NANOSECONDS_IN_MS);
}

/** Counts the messages in the bytes, of the fields that the schema knows; stops beyond the limit. */
function countMessages(schema: DescMessage, reader: BinaryReader, end: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new InvalidRecordError('body: nested too deeply');
  let messages = 1;
  while (reader.pos < end && messages <= MAX_MESSAGES) {
    const [number, wireType] = reader.tag();
    const field = schema.fields.find((one) => one.number === number);
    const inner = wireType === WireType.LengthDelimited ? (field?.message ?? undefined) : undefined;
    if (inner) {
      const length = reader.uint32();
      messages += countMessages(inner, reader, reader.pos + length, depth + 1);
    } else reader.skip(wireType, number);
  }
  return messages;
}

function tooMany(): InvalidRecordError {
  return new InvalidRecordError(`body: must have at most ${MAX_MESSAGES} values`);
}
