import type { Steps } from '../shared/async/slices.js';
import type { IngestTable, Piece } from './batch-log.js';
import type { RequestIds } from '../records/names/name-registry.js';
import { toRecordJson } from '../records/record-json.js';
import type { CountRecord, RequestRecord } from '../records/request-record.js';

/**
 * Rows per call of `JSON.stringify`: a call for each row took two thirds more time; more rows are not faster.
 */
const ROWS_IN_TEXT = 100;
const CHARACTERS_IN_TEXT = 1024 * 1024;
/** Characters of a text that are escaped in one step. */
const CHARACTERS_IN_STEP = 256 * 1024;
/** A piece is held several times while it is inserted: with 16 million characters that takes 90 MB more. */
const CHARACTERS_IN_PIECE = 8 * 1024 * 1024;
/**
 * A batch of an import, 10 million characters: each piece is an insert with its fixed cost. It is read whole
 * where a batch is applied again: with 24 million that takes up to 160 MB more, and an import is not faster.
 */
export const CHARACTERS_IN_IMPORTED_PIECE = 16 * 1024 * 1024;

const HIGH_SURROGATE = /[\uD800-\uDBFF]/;

/** A row with `app_id` and further columns by name. */
interface Row {
  app_id: number;
}

/**
 * Encodes the rows of an insert, one per item, in pieces of bounded size.
 *
 * @param toRow all rows have the same columns; the first one is `app_id`
 * @param maxLength characters of a piece, unless one row has more
 */
export function* encodePieces<T>(
  table: IngestTable,
  items: readonly T[],
  toRow: (item: T) => Row,
  weigh: (item: T) => number = () => 0,
  maxLength = CHARACTERS_IN_PIECE,
): Steps<Piece[]> {
  const pieces: Piece[] = [];
  let columns: (keyof Row)[] = [];
  let texts: string[] = [];
  let length = 0;
  for (const { part, isLong } of partition(items, weigh)) {
    const rows = part.map(toRow);
    if (columns.length === 0) columns = Object.keys(rows[0] ?? {}) as (keyof Row)[];
    const values = rows.map((row) => columns.map((column) => row[column]));
    const text = isLong ? yield* stringifyRows(values) : JSON.stringify(values).slice(1, -1);
    if (texts.length > 0 && length + text.length > maxLength) {
      pieces.push({ table, rows: texts.join() });
      texts = [];
      length = 0;
    }
    if (texts.length === 0) texts.push(JSON.stringify(columns));
    texts.push(text);
    length += text.length;
    yield;
  }
  // To join them is a step of its own.
  if (texts.length > 0) pieces.push({ table, rows: texts.join() });
  return pieces;
}

/**
 * The rows of a part with a long one, in steps: to escape 9 MB of JSON took 60 to 90 ms. They are
 * concatenated, not joined, so that they are copied once, into their piece.
 */
function* stringifyRows(rows: readonly unknown[][]): Steps<string> {
  let text = '';
  for (const values of rows) {
    let row = '';
    for (const value of values) {
      const json = typeof value === 'string' ? yield* stringifyText(value) : JSON.stringify(value ?? null);
      row += `${row && ','}${json}`;
    }
    text += `${text && ','}[${row}]`;
  }
  return text;
}

function* stringifyText(text: string): Steps<string> {
  if (text.length <= CHARACTERS_IN_STEP) return JSON.stringify(text);
  let json = '';
  for (let at = 0; at < text.length;) {
    const end = at + CHARACTERS_IN_STEP;
    // Both halves of a pair of surrogates.
    const part = text.slice(at, HIGH_SURROGATE.test(text.charAt(end - 1)) ? end + 1 : end);
    json += JSON.stringify(part).slice(1, -1);
    at += part.length;
    yield;
  }
  return `"${json}"`;
}

/** Estimated characters of a request's row: captured JSON is escaped in it. */
export function weighRequest({ captured_json, url }: RequestRecord): number {
  return 2 * captured_json.length + 2 * url.length + 600;
}

function* partition<T>(
  items: readonly T[],
  weigh: (item: T) => number,
): Generator<{ part: T[]; isLong: boolean }> {
  let part: T[] = [];
  let weight = 0;
  for (const item of items) {
    part.push(item);
    const itemWeight = weigh(item);
    weight += itemWeight;
    if (part.length < ROWS_IN_TEXT && weight < CHARACTERS_IN_TEXT) continue;
    yield { part, isLong: itemWeight >= CHARACTERS_IN_TEXT };
    part = [];
    weight = 0;
  }
  if (part.length > 0) yield { part, isLong: false };
}

/** One row of `logged_requests`. */
export function toLogRow(appId: number, record: RequestRecord, ids: RequestIds) {
  const { request_uuid, method, status_code, captured_json } = record;
  return {
    app_id: appId,
    timestamp: record.timestamp,
    request_uuid,
    app_env_id: ids.app_env_id,
    endpoint_id: ids.endpoint_id,
    consumer_id: ids.consumer_id,
    method,
    status_code,
    record_json: toRecordJson(record),
    captured_json,
  };
}

/** One row of `requests`. */
export function toRequestRow(appId: number, record: RequestRecord, ids: RequestIds) {
  const { request_size_bytes, response_size_bytes, response_time_ms, excluded_from_logs } = record;
  return Object.assign(toLogRow(appId, record, ids), {
    request_size_bytes: request_size_bytes ?? -1,
    response_size_bytes: response_size_bytes ?? -1,
    response_time_ms: response_time_ms ?? -1,
    excluded_from_logs,
  });
}

/** Estimated characters of an error's row: line ends are escaped in it. */
export function weighError({ message, stacktrace }: { message: string; stacktrace: string }): number {
  return 2 * (message.length + stacktrace.length) + 600;
}

/** Estimated characters of a row of counts. */
export function weighCount({ bins }: { bins: readonly unknown[] }): number {
  return 24 * bins.length + 300;
}

/** One row of `request_counts`. */
export function toCountRow(appId: number, count: CountRecord, ids: RequestIds) {
  const { timestamp, status_code, requests, bytes_received, bytes_sent, bins } = count;
  const sums = { status_code, requests, bytes_received, bytes_sent };
  return { app_id: appId, timestamp, ...ids, ...sums, bins };
}
