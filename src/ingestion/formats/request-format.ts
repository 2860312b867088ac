import { parseCombinedLine } from './combined-log.parser.js';
import { parseNdjsonLine } from './ndjson.parser.js';
import type { LineResult, ParseOptions } from './parsed-request.js';

export const REQUEST_FORMATS = ['ndjson', 'combined'] as const;
export type RequestFormat = (typeof REQUEST_FORMATS)[number];

const PARSERS = { ndjson: parseNdjsonLine, combined: parseCombinedLine };

const COMMENT = /^\s*(?:#|\/\/)/;
const IN_ARRAY =
  'line: belongs to a JSON array; NDJSON has one object in each line, as jq -c ".[]" writes it';

/**
 * Parses the lines of one source. By default the first valid line decides the format: until then
 * a line that begins with a brace is parsed as NDJSON and any other as an access log, so that a comment or a damaged
 * line at the beginning does not decide it.
 */
export class LineParser {
  /** The beginning of the first line that is not a comment. */
  private opening: string | undefined;

  constructor(
    private format: RequestFormat | undefined,
    private readonly options: ParseOptions = {},
  ) {}

  /** The request of a line that is not blank, or the reason why the line is invalid. Never throws. */
  parse(line: string): LineResult {
    if (this.format !== undefined) return PARSERS[this.format](line, this.options);
    const beginning = line.trimStart().charAt(0);
    const format = beginning === '{' ? 'ndjson' : 'combined';
    const result = PARSERS[format](line, this.options);
    if ('record' in result) this.format = format;
    else return { reason: this.explain(line, beginning, result.reason) };
    return result;
  }

  /** Why a line is invalid in a source without a valid line so far. */
  private explain(line: string, beginning: string, reason: string): string {
    if (COMMENT.test(line)) return 'line: is a comment';
    this.opening ??= beginning;
    if (this.opening === '[') return IN_ARRAY;
    return this.opening === '{' && beginning !== '{' ? 'line: must be valid JSON' : reason;
  }
}
