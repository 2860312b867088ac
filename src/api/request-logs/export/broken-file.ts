import type { FileHandle } from 'node:fs/promises';
import { HAR_BEGINNING } from '../../../queries/files/file-joiner.js';
import type { RequestLogKey } from '../request-log-key.js';

/** The intact part of a file that broke off. */
export interface BrokenFile {
  /** End of its last whole row; 0 if no row is whole. */
  readonly wholeBytes: number;
  readonly last: RequestLogKey | undefined;
}

/** Size of the end of the file that is read: rows are shorter. */
const TAIL_BYTES = 64 * 1024 * 1024;
const CSV = 'timestamp,request_uuid';
/** The beginning of every file, whichever fields it has. */
const BEGINNINGS = { ndjson: '{"timestamp":"', har: HAR_BEGINNING, csv: CSV, csv_spreadsheet: CSV } as const;
const KEY =
  /^,?\{?"?(?:(?:timestamp|startedDateTime)":")?(\d{4}-[^"]+)",(?:"_?request_uuid":)?"([0-9a-f-]{36})"/;

/**
 * Finds the last whole row of an export as NDJSON, HAR or CSV; undefined if the file is not an export. For
 * CSV it is the last row but one, because a line end may be inside a text.
 */
export async function findBreak(
  file: FileHandle,
  format: keyof typeof BEGINNINGS,
): Promise<BrokenFile | undefined> {
  const { size } = await file.stat();
  const head = Buffer.alloc(Math.min(size, BEGINNINGS[format].length));
  await file.read(head, 0, head.length, 0);
  if (!BEGINNINGS[format].startsWith(head.toString('latin1'))) return undefined;
  const offset = Math.max(0, size - TAIL_BYTES);
  const tail = Buffer.alloc(size - offset);
  await file.read(tail, 0, tail.length, offset);
  // Each byte becomes one character, so that offsets in the text are offsets in the file.
  const text = tail.toString('latin1');
  const isLines = format === 'ndjson' || format === 'har';
  const end = isLines ? text.lastIndexOf('\n') + 1 : findLastRow(text);
  const before = text.slice(0, Math.max(0, end - 1));
  const start = isLines ? before.lastIndexOf('\n') + 1 : findLastRow(before);
  const [, timestamp = '', request_uuid = ''] = KEY.exec(text.slice(start, Math.min(end, start + 200))) ?? [];
  const at = Date.parse(timestamp);
  const hasOnlyHead = format === 'har' && offset + start === 0;
  if (end <= 0 || start < 0 || hasOnlyHead) return { wholeBytes: 0, last: undefined };
  if (Number.isNaN(at)) return undefined;
  return { wholeBytes: offset + end, last: { timestamp: at, request_uuid } };
}

/**
 * Offset of the last row of CSV: after a line end with a quote, which is doubled inside texts, and before a
 * time; -1 if there is none.
 */
function findLastRow(text: string): number {
  const mark = '\r\n"';
  for (let at = text.lastIndexOf(mark); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(mark, at - 1))
    if (/\d/.test(text.charAt(at + mark.length))) return at + 2;
  return -1;
}
