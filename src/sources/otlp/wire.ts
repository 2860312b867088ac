import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { InvalidRecordError } from '../../records/decoding/decoders.js';

/** Deepest nesting of messages. */
export const MAX_DEPTH = 100;
/** How scalars are written that are not varints. */
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

/**
 * A field as it stands in a message, with its tag; of a field that is a message, `start` is where that
 * begins.
 */
export interface WireField {
  readonly field: DescField | undefined;
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/**
 * The fields of a message of protobuf, in their order; messages in it are not read. Throws what the
 * decoder throws.
 */
export function* listWireFields(schema: DescMessage, bytes: Buffer): Generator<WireField, void> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < bytes.length) {
    const from = reader.pos;
    const [number, wireType] = reader.tag();
    const field = findField(schema, number);
    let start = from;
    if (!field) reader.skip(wireType, number);
    // As the decoder, which reads a message for every wire type: otherwise one could hide from the limits.
    else if (field.message) {
      const end = readEnd(reader);
      start = reader.pos;
      reader.pos = end;
    } else skipScalars(reader, field, wireType);
    yield { field, from, start, end: reader.pos };
  }
}

/**
 * Counts the messages and items of lists that the decoder would make of a message; stops beyond the limit.
 */
export function countWireValues(schema: DescMessage, bytes: Buffer, limit: number): number {
  const reader = new BinaryReader(bytes);
  const count = (message: DescMessage, end: number, depth: number): number => {
    if (depth > MAX_DEPTH) throw new InvalidRecordError('body: nested too deeply');
    let values = 1;
    while (reader.pos < end && values <= limit) {
      const [number, wireType] = reader.tag();
      const field = findField(message, number);
      if (!field) reader.skip(wireType, number);
      else if (field.message) values += count(field.message, readEnd(reader), depth + 1);
      else values += skipScalars(reader, field, wireType);
    }
    return values;
  };
  return count(schema, bytes.length, 0);
}

/** Skips a scalar or the items of a list, which may be packed, and counts those items. */
function skipScalars(
  reader: BinaryReader,
  { fieldKind, scalar, number }: DescField,
  wireType: WireType,
): number {
  const itemType = (scalar !== undefined ? WIRE_TYPES[scalar] : undefined) ?? WireType.Varint;
  const isPacked = wireType === WireType.LengthDelimited && itemType !== WireType.LengthDelimited;
  if (fieldKind !== 'list' || !isPacked) {
    reader.skip(itemType, number);
    return fieldKind === 'list' ? 1 : 0;
  }
  const packed = reader.bytes();
  return itemType === WireType.Varint
    ? countVarints(packed)
    : packed.length / (itemType === WireType.Bit64 ? 8 : 4);
}

/** The end of what follows its length. */
function readEnd(reader: BinaryReader): number {
  const length = reader.uint32();
  if (reader.pos + length > reader.len) throw new RangeError('premature EOF');
  return reader.pos + length;
}

/** The last byte of a varint is below 128. */
function countVarints(bytes: Uint8Array): number {
  let varints = 0;
  for (const byte of bytes) if (byte < 128) varints++;
  return varints;
}

function findField({ fields }: DescMessage, number: number): DescField | undefined {
  return fields.find((field) => field.number === number);
}
