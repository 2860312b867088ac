import { randomUUID } from 'node:crypto';
import { parquetMetadata } from 'hyparquet';
import type { Frame } from './result-frame.js';

/** Arrow's stream format: a message with the schema, one for each batch of rows, and an end mark. */
const CONTINUATION = 0xffffffff;
const MESSAGE_PREFIX_BYTES = 8;
/** The place of `bodyLength` among the members of a Message (Arrow's Message.fbs). */
const BODY_LENGTH_SLOT = 3;
const PARQUET_MAGIC = 'PAR1';
/** The length of the footer and the magic number after it. */
const PARQUET_END_BYTES = 8;

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
 * name ends with the nonce of the query. The engine writes the name before the first row (Arrow) or after the last one
 * (Parquet), and the rest of the file must match it byte for byte. Such a result is complete and belongs to this query,
 * as with `ResultFrame`; the nonce is then removed from the name.
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
      // Lengths and offsets outside of the result, and footers that cannot be parsed.
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

  /** Checks that the footer is of this query and that its columns fill the file from its beginning to the footer. */
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

  /** A copy of its metadata follows each column; readers ignore it, so it stays unchanged. */
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
  const table = metadata + stream.readUInt32LE(metadata);
  const vtable = table - stream.readInt32LE(table);
  const slot = 4 + 2 * BODY_LENGTH_SLOT;
  const field = slot < stream.readUInt16LE(vtable) ? stream.readUInt16LE(vtable + slot) : 0;
  const bodyLength = field === 0 ? 0 : Number(stream.readBigInt64LE(table + field));
  const end = metadata + stream.readUInt32LE(at + 4) + bodyLength;
  return bodyLength >= 0 && end <= stream.length ? end : undefined;
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
