import { randomUUID } from 'node:crypto';
import { parseError } from '@clickhouse/client';
import { StoreUnavailable, toStoreError } from './clickhouse.errors.js';
import type { QueryRequest } from './transport.js';

/**
 * Row formats of a result.
 * `text`: the text of the only column, followed by LF.
 * `json`: a JSON array for each row, after an array of the names.
 * `ndjson`: a JSON object, followed by LF.
 * `csv`: a line of CSV, followed by CRLF, after a line of the names.
 */
export type ResultFormat = 'text' | 'json' | 'ndjson' | 'csv';

const CUSTOM = {
  text: { name: 'CustomSeparated', escapingRule: 'Raw', before: '', after: '\\n' },
  json: { name: 'CustomSeparatedWithNames', escapingRule: 'JSON', before: '[', after: ']\\n' },
  csv: { name: 'CustomSeparated', escapingRule: 'CSV', before: '', after: '\\r\\n' },
} as const;
/** An error is at the end of the result, and is short. */
const TAIL_BYTES = 16_384;

/** Encloses the result of one query, to prove that it is complete and belongs to the query. */
export interface Frame {
  /** The name of the engine's output format. */
  readonly formatName: QueryRequest['format'];
  /** The settings of the statement that write the frame. */
  readonly settings: string;
  /** The result without its frame; undefined if it is incomplete or belongs to another query. */
  unwrap(result: Buffer): Buffer | undefined;
}

/**
 * Encloses the result of one query in a unique nonce, which proves that the result
 * belongs to this query and is complete.
 *
 * The embedded engine may return rows of a failed query to the next query of the same session
 * (docs/chdb-leftover-rows.mjs). A server sends 200 before it knows that a query succeeds and writes an error
 * after the rows; a proxy may truncate a response or send its own.
 */
export class ResultFrame implements Frame {
  private readonly nonce = randomUUID();

  /** @param columns the names of the columns, each an identifier, for NDJSON and CSV */
  constructor(
    private readonly format: ResultFormat,
    private readonly columns: readonly string[] = [],
  ) {}

  get formatName() {
    return this.format === 'ndjson' ? 'Template' : CUSTOM[this.format].name;
  }

  get settings(): string {
    if (this.format === 'ndjson') {
      const members = this.columns.map((column) => `"${column}":${substitute(`${column}:JSON`)}`);
      return [
        `format_template_row_format = '{${members.join()}}\\n'`,
        `format_template_rows_between_delimiter = ''`,
        `format_template_resultset_format = '${this.nonce}\\n${substitute('data')}${this.nonce}'`,
      ].join(', ');
    }
    const { escapingRule, before, after } = CUSTOM[this.format];
    const header = this.columns.length === 0 ? '' : `${this.columns.join()}${after}`;
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

  /** The rows; undefined if the result is incomplete or belongs to another query. */
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

/** A place in a template, with escaped braces because `{name:Type}` is a value of the statement. */
function substitute(place: string): string {
  return `$\\x7b${place}\\x7d`;
}

/**
 * The error for a result without a frame: the engine's error at its end if it concerns the store, otherwise
 * StoreUnavailable.
 */
export function unframedError(result: Buffer): Error {
  const cause = parseError(result.toString('utf8', Math.max(0, result.length - TAIL_BYTES)));
  // Text that looks like another error may be part of a row.
  return 'code' in cause && toStoreError(cause) !== cause
    ? cause
    : new StoreUnavailable('the result is incomplete or not that of the query', { cause });
}
