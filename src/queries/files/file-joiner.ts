import type { FileMetaData } from 'hyparquet';
import { parquetMetadata } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import {
  MESSAGE_PREFIX_BYTES,
  PARQUET_END_BYTES,
  PARQUET_MAGIC,
  findArrowMessages,
} from '../../store/client/binary-frame.js';
import { PRODUCT_VERSION } from '../../config/version.js';
import type { ExportFormat } from '../../shared/file-format.js';

/**
 * Concatenates files with equal columns, without looking at their values.
 *
 * The end of each file is held back until the next file arrives, so that a truncated download is always
 * invalid.
 */
export interface FileJoiner {
  /** Number of rows in the files so far. */
  readonly rows: number;
  /** The next bytes of the joined file. */
  add(file: Buffer): Buffer[];
  /** Its last bytes. At least one file must have been added. */
  end(): Buffer;
}

/** @param isContinued the file behind the rows of one that broke off: without its beginning */
export function createJoiner(format: ExportFormat, isContinued = false): FileJoiner {
  switch (format) {
    case 'ndjson':
      return new LinesJoiner();
    case 'csv':
    case 'csv_spreadsheet':
      return new CsvJoiner(isContinued);
    case 'har':
      return new HarJoiner(isContinued);
    case 'arrow':
      return new ArrowJoiner();
    case 'parquet':
      return new ParquetJoiner();
  }
}

const LINE_FEED = 0x0a;
const NO_BYTES: Buffer = Buffer.alloc(0);

/** Joins lines of JSON. Holds back the end of the last object. */
class LinesJoiner implements FileJoiner {
  rows = 0;
  private kept = NO_BYTES;

  add(file: Buffer): Buffer[] {
    for (let at = file.indexOf(LINE_FEED); at >= 0; at = file.indexOf(LINE_FEED, at + 1)) this.rows += 1;
    if (file.length === 0) return [];
    const given = [this.kept, file.subarray(0, -2)];
    this.kept = Buffer.from(file.subarray(-2));
    return given;
  }

  end(): Buffer {
    return this.kept;
  }
}

/** The beginning of an HTTP Archive, and its end. */
export const HAR_BEGINNING = '{"log":{"version":"1.2","creator":';
const HAR_HEAD = Buffer.from(
  `${HAR_BEGINNING}${JSON.stringify({ name: 'Request Analytics API', version: PRODUCT_VERSION })},"entries":[\n`,
);
const HAR_END = Buffer.from(']}}\n');

/**
 * Joins lines of entries, each with a comma before it, into one JSON object. Its last brackets come when all
 * entries are read.
 */
class HarJoiner implements FileJoiner {
  private readonly lines = new LinesJoiner();

  private head: Buffer;

  constructor(private readonly isContinued: boolean) {
    this.head = isContinued ? NO_BYTES : HAR_HEAD;
  }

  get rows(): number {
    return this.lines.rows;
  }

  add(file: Buffer): Buffer[] {
    const isFirst = this.rows === 0 && !this.isContinued;
    const given = [this.head, ...this.lines.add(isFirst ? file.subarray(1) : file)];
    this.head = NO_BYTES;
    return given;
  }

  end(): Buffer {
    return Buffer.concat([this.lines.end(), HAR_END]);
  }
}

const CRLF = '\r\n';
/**
 * The beginning of a row: its first column is a quoted text, a time or an ID in hex; inside such texts quotes
 * are doubled.
 */
const ROW_START = Buffer.from(`${CRLF}"`);
const QUOTE = 0x22;
const HEX_DIGITS: ReadonlySet<number> = new Set(Buffer.from('0123456789abcdef'));

/**
 * Joins rows after one header line; the first column is a quoted time or ID. Holds back the last row except
 * its opening quote: an unbalanced quote makes a truncated CSV unparsable.
 */
class CsvJoiner implements FileJoiner {
  rows = 0;
  private kept = NO_BYTES;

  constructor(private hasHeader: boolean) {}

  add(file: Buffer): Buffer[] {
    const rows = file.indexOf(CRLF) + CRLF.length;
    const given = [this.kept, ...(this.hasHeader ? [] : [file.subarray(0, rows)])];
    this.hasHeader = true;
    this.kept = NO_BYTES;
    let last: number | undefined;
    for (let at = this.nextRow(file, rows - CRLF.length); at !== undefined; at = this.nextRow(file, at)) {
      this.rows += 1;
      last = at;
    }
    if (last === undefined) return given;
    this.kept = Buffer.from(file.subarray(last + 1));
    return [...given, file.subarray(rows, last + 1)];
  }

  end(): Buffer {
    return this.kept;
  }

  /** Offset of the next row whose preceding line end is not before `from`. */
  private nextRow(file: Buffer, from: number): number | undefined {
    for (let at = file.indexOf(ROW_START, from); at >= 0; at = file.indexOf(ROW_START, at + 1)) {
      const start = at + CRLF.length;
      const [quote, digit = 0] = file.subarray(start, start + 2);
      if (quote === QUOTE && HEX_DIGITS.has(digit)) return start;
    }
    return undefined;
  }
}

/**
 * Joins streams of messages: the schema of the first file, the batches of all files, one end mark. Holds back
 * the end of the last batch.
 */
class ArrowJoiner implements FileJoiner {
  rows = 0;
  private schema?: Buffer;
  private kept = NO_BYTES;

  add(file: Buffer): Buffer[] {
    const [schema, ...batches] = findArrowMessages(file);
    if (!schema) throw new Error('An Arrow stream begins with its schema');
    const head = file.subarray(0, schema.end);
    if (this.schema && !this.schema.equals(head))
      throw new Error('Files with other columns cannot be joined');
    for (const { rows } of batches) this.rows += rows;
    const from = this.schema ? schema.end : 0;
    this.schema ??= Buffer.from(head);
    const body = file.subarray(from, file.length - MESSAGE_PREFIX_BYTES);
    if (body.length === 0) return [];
    const given = [this.kept, body.subarray(0, -MESSAGE_PREFIX_BYTES)];
    this.kept = Buffer.from(body.subarray(-MESSAGE_PREFIX_BYTES));
    return given;
  }

  end(): Buffer {
    const end = Buffer.alloc(MESSAGE_PREFIX_BYTES);
    end.writeUInt32LE(0xffffffff);
    return Buffer.concat([this.kept, end]);
  }
}

/**
 * Joins row groups unchanged, one after another, and writes one footer with their new offsets. The page
 * indexes are left out, because their offsets change as well.
 */
class ParquetJoiner implements FileJoiner {
  private metadata?: FileMetaData;
  private offset = 0;

  get rows(): number {
    return Number(this.metadata?.num_rows ?? 0);
  }

  add(file: Buffer): Buffer[] {
    const footerStart = file.length - PARQUET_END_BYTES - file.readUInt32LE(file.length - PARQUET_END_BYTES);
    const metadata = parquetMetadata(new Uint8Array(file.subarray(footerStart)).buffer);
    const chunks = metadata.row_groups.flatMap(({ columns }) => columns);
    const ends = chunks.flatMap(({ column_index_offset, offset_index_offset }) => [
      Number(column_index_offset ?? Infinity),
      Number(offset_index_offset ?? Infinity),
    ]);
    // Only the first file keeps the magic at its beginning.
    const body = file.subarray(this.metadata ? PARQUET_MAGIC.length : 0, Math.min(footerStart, ...ends));
    const shift = BigInt(this.metadata ? this.offset - PARQUET_MAGIC.length : 0);
    for (const chunk of chunks) moveChunk(chunk, shift);
    for (const group of metadata.row_groups) if (group.file_offset !== undefined) group.file_offset += shift;
    if (this.metadata) {
      this.metadata.num_rows += metadata.num_rows;
      this.metadata.row_groups.push(...metadata.row_groups);
    } else this.metadata = metadata;
    this.offset += body.length;
    return [body];
  }

  end(): Buffer {
    if (!this.metadata) throw new Error('No file was added');
    const writer = new ByteWriter();
    writeMetadata(writer, this.metadata);
    return Buffer.concat([writer.getBytes(), Buffer.from(PARQUET_MAGIC)]);
  }
}

type Chunk = FileMetaData['row_groups'][number]['columns'][number];

function moveChunk(chunk: Chunk, shift: bigint): void {
  delete chunk.column_index_offset;
  delete chunk.column_index_length;
  delete chunk.offset_index_offset;
  delete chunk.offset_index_length;
  chunk.file_offset += shift;
  const { meta_data: metadata } = chunk;
  if (!metadata) return;
  metadata.data_page_offset += shift;
  if (metadata.index_page_offset !== undefined) metadata.index_page_offset += shift;
  if (metadata.dictionary_page_offset !== undefined) metadata.dictionary_page_offset += shift;
  delete metadata.bloom_filter_offset;
  delete metadata.bloom_filter_length;
  delete metadata.size_statistics;
  // Their bounds may be cut in the middle of a character; a reader that skips by them would lose rows.
  if (metadata.type === 'BYTE_ARRAY') delete metadata.statistics;
}
