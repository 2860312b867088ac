import { randomUUID } from 'node:crypto';
import { parseError } from '@clickhouse/client';
import { StoreUnavailable, toStoreError } from './clickhouse.errors.js';
import type { QueryRequest } from './transport.js';

/**
 * Row formats of a result: each row as the text of its only column, ended by LF or CRLF, or as a JSON array after a row of
 * names.
 */
export type ResultFormat = 'text' | 'crlf' | 'json';

const FORMATS = {
  text: { name: 'CustomSeparated', escapingRule: 'Raw', before: '', after: '\\n' },
  crlf: { name: 'CustomSeparated', escapingRule: 'Raw', before: '', after: '\\r\\n' },
  json: { name: 'CustomSeparatedWithNames', escapingRule: 'JSON', before: '[', after: ']\\n' },
} as const;
/** Errors come last and are short. */
const TAIL_BYTES = 16_384;

/** Encloses the result of one query, to prove that it is complete and belongs to the query. */
export interface Frame {
  /** The name of the engine's output format. */
  readonly formatName: QueryRequest['format'];
  /** The settings of the statement that write the frame. */
  readonly settings: string;
  /** The result without its frame; undefined when it is incomplete or not that of this query. */
  unwrap(result: Buffer): Buffer | undefined;
}

/**
 * Encloses the result of one query in a unique nonce, which proves that the result
 * belongs to this query and is complete.
 *
 * The embedded engine may return rows of a failed query to the next query of the same session
 * (docs/chdb-leftover-rows.mjs). A server sends 200 before it knows that a query succeeds and writes an error after the
 * rows; a proxy may truncate a response or send its own.
 */
export class ResultFrame implements Frame {
  private readonly nonce = randomUUID();

  /** @param header names of columns, each an identifier, for a first line of CSV */
  constructor(
    private readonly format: ResultFormat,
    private readonly header: readonly string[] = [],
  ) {}

  get formatName() {
    return FORMATS[this.format].name;
  }

  get settings(): string {
    const { escapingRule, before, after } = FORMATS[this.format];
    const header = this.header.length === 0 ? '' : `${this.header.join()}${after}`;
    return [
      `format_custom_escaping_rule = '${escapingRule}'`,
      `format_custom_field_delimiter = ','`,
      `format_custom_row_before_delimiter = '${before}'`,
      `format_custom_row_after_delimiter = '${after}'`,
      `format_custom_row_between_delimiter = ''`,
      `format_custom_result_before_delimiter = '${this.nonce}\\n${header}'`,
      `format_custom_result_after_delimiter = '${this.nonce}'`,
    ].join(', ');
  }

  /** The rows, each ended by a line feed; undefined when the result is incomplete or not that of this query. */
  unwrap(result: Buffer): Buffer | undefined {
    const opening = `${this.nonce}\n`;
    const end = result.length - this.nonce.length;
    const isFramed =
      end >= opening.length &&
      result.toString('latin1', 0, opening.length) === opening &&
      result.toString('latin1', end) === this.nonce;
    return isFramed ? result.subarray(opening.length, end) : undefined;
  }
}

/** The error for a result without a frame: the engine's error at its end if it concerns the store, else StoreUnavailable. */
export function unframedError(result: Buffer): Error {
  const cause = parseError(result.toString('utf8', Math.max(0, result.length - TAIL_BYTES)));
  // Text that looks like another error may be part of a row.
  return 'code' in cause && toStoreError(cause) !== cause
    ? cause
    : new StoreUnavailable('the result is incomplete or not that of the query', { cause });
}
