import { randomUUID } from 'node:crypto';
import { parquetMetadata } from 'hyparquet';
import type { Frame } from './result-frame.js';

/** Arrow's stream format: a message with the schema, one for each batch of rows, and an end mark. */
const CONTINUATION = 0xffffffff;
export const MESSAGE_PREFIX_BYTES = 8;
/** Places of members in a Message and in a RecordBatch (Arrow's Message.fbs). */
const [HEADER_SLOT, BODY_LENGTH_SLOT, ROWS_SLOT] = [2, 3, 0];
export const PARQUET_MAGIC = 'PAR1';
/** The length of the footer and the magic behind it. */
export const PARQUET_END_BYTES = 8;

/** Settings for the types in the file, and for the Parquet index that `columnsEnd` reads. */
const SETTINGS = {
  arrow: [
    "output_format_arrow_compression_method = 'lz4_frame'",
    'output_format_arrow_string_as_string = 1',
    'output_format_arrow_low_cardinality_as_dictionary = 0',
  ],
  parquet: [
    "output_format_parquet_compression_method = 'zstd'",
    'output_format_parquet_string_as_string = 1',
    'output_format_parquet_write_page_index = 1',
  ],
} as const;

/**
 * The frame of a result in a binary format, which allows no text before or after the rows: the first column's
 * name ends with the nonce of the query. The engine writes the name before the first row (Arrow) or after the
 * last one (Parquet), and the rest of the file must match it byte for byte. Such a result is complete and
 * belongs to this query, as with `ResultFrame`; the nonce is then removed from the name.
 */
export class BinaryFrame implements Frame {
  readonly formatName;
  readonly settings;
  /** The name that the first column of the statement must have. */
  readonly taggedName: string;

  constructor(
    private readonly format: 'arrow' | 'parquet',
    /** Its name in the returned file; ASCII, shorter than 90 characters. */
    private readonly columnName: string,
  ) {
    this.formatName = format === 'arrow' ? ('ArrowStream' as const) : ('Parquet' as const);
    this.settings = SETTINGS[format].join(', ');
    this.taggedName = `${columnName}_${randomUUID().replaceAll('-', '')}`;
  }

  unwrap(result: Buffer): Buffer | undefined {
    try {
      return this.format === 'arrow' ? this.unwrapArrow(result) : this.unwrapParquet(result);
    } catch {
      // A length or offset points outside of the result, or the footer cannot be parsed.
      return undefined;
    }
  }

  /** Begins with the schema of this query and consists of whole messages up to the end mark. */
  private unwrapArrow(result: Buffer): Buffer | undefined {
    const schemaEnd = nextMessage(result, 0);
    const nameAt = result.subarray(0, schemaEnd).indexOf(this.taggedName);
    if (nameAt < 0) return undefined;
    let end = schemaEnd;
    while (end !== undefined && !isEndMark(result, end)) end = nextMessage(result, end);
    if (end === undefined || end + MESSAGE_PREFIX_BYTES !== result.length) return undefined;
    // A string has its length before it and a zero after it; the bytes after the shorter one become padding.
    result.writeUInt32LE(this.columnName.length, nameAt - 4);
    result.fill(0, nameAt + this.columnName.length, nameAt + this.taggedName.length);
    return result;
  }

  /**
   * Checks that the footer is of this query and that its columns fill the file from its beginning to the
   * footer.
   */
  private unwrapParquet(result: Buffer): Buffer | undefined {
    const footerEnd = result.length - PARQUET_END_BYTES;
    const footerStart = footerEnd - result.readUInt32LE(footerEnd);
    const footer = result.subarray(footerStart, footerEnd);
    if (!footer.includes(this.taggedName) || !result.subarray(0, 4).equals(Buffer.from(PARQUET_MAGIC)))
      return undefined;
    if (columnsEnd(result.subarray(footerStart)) !== footerStart) return undefined;
    const named = replaceText(footer, this.taggedName, this.columnName);
    const end = Buffer.alloc(PARQUET_END_BYTES);
    end.writeUInt32LE(named.length);
    end.write(PARQUET_MAGIC, 4);
    return Buffer.concat([this.withoutNonce(result.subarray(0, footerStart)), named, end]);
  }

  /**
   * Removes the nonce from the schema. A copy of its metadata follows each column; readers ignore it, so it
   * stays unchanged.
   */
  private withoutNonce(columns: Buffer): Buffer {
    const { length } = this.columnName;
    for (let at = columns.indexOf(this.taggedName); at >= 0; at = columns.indexOf(this.taggedName, at))
      columns.fill('_', at + length, at + this.taggedName.length);
    return columns;
  }
}

/** End of the message that begins at `at`; undefined if there is none. */
function nextMessage(stream: Buffer, at: number): number | undefined {
  if (stream.readUInt32LE(at) !== CONTINUATION) return undefined;
  const metadata = at + MESSAGE_PREFIX_BYTES;
  const bodyLength = readInteger(stream, metadata + stream.readUInt32LE(metadata), BODY_LENGTH_SLOT);
  const end = metadata + stream.readUInt32LE(at + 4) + bodyLength;
  return bodyLength >= 0 && end <= stream.length ? end : undefined;
}

/**
 * The messages of an Arrow stream up to its end mark, each with its end offset and its number of rows. The
 * schema is the first message.
 */
export function findArrowMessages(stream: Buffer): { end: number; rows: number }[] {
  const messages: { end: number; rows: number }[] = [];
  for (let at = 0; !isEndMark(stream, at);) {
    const end = nextMessage(stream, at);
    if (end === undefined) throw new Error('An Arrow stream has a broken message');
    messages.push({ end, rows: at === 0 ? 0 : readRowCount(stream, at) });
    at = end;
  }
  return messages;
}

function readRowCount(stream: Buffer, at: number): number {
  const metadata = at + MESSAGE_PREFIX_BYTES;
  const message = metadata + stream.readUInt32LE(metadata);
  const header = findMember(stream, message, HEADER_SLOT);
  return header === undefined ? 0 : readInteger(stream, header + stream.readUInt32LE(header), ROWS_SLOT);
}

/** Offset of a member of a FlatBuffers table; undefined if the member has its default. */
function findMember(stream: Buffer, table: number, place: number): number | undefined {
  const vtable = table - stream.readInt32LE(table);
  const slot = 4 + 2 * place;
  const offset = slot < stream.readUInt16LE(vtable) ? stream.readUInt16LE(vtable + slot) : 0;
  return offset === 0 ? undefined : table + offset;
}

/** Reads a 64-bit integer member of a FlatBuffers table. */
function readInteger(stream: Buffer, table: number, place: number): number {
  const at = findMember(stream, table, place);
  return at === undefined ? 0 : Number(stream.readBigInt64LE(at));
}

function isEndMark(stream: Buffer, at: number): boolean {
  return stream.readUInt32LE(at) === CONTINUATION && stream.readUInt32LE(at + 4) === 0;
}

/**
 * End of the last structure that the footer of a Parquet file refers to: the index of its last column.
 *
 * @param footer to the end of the file
 */
function columnsEnd(footer: Buffer): number {
  const chunks = parquetMetadata(new Uint8Array(footer).buffer).row_groups.flatMap(({ columns }) => columns);
  const ends = chunks.map(
    ({ offset_index_offset: start = 0n, offset_index_length: length = 0 }) => Number(start) + length,
  );
  return Math.max(PARQUET_MAGIC.length, ...ends);
}

/** Replaces a string in Thrift's compact encoding, where one byte before it is its length. */
function replaceText(thrift: Buffer, from: string, to: string): Buffer {
  const encode = (text: string) =>
    Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]).toString('latin1');
  return Buffer.from(thrift.toString('latin1').replaceAll(encode(from), encode(to)), 'latin1');
}
