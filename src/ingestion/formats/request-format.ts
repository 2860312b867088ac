import { parseCombinedLine } from './combined-log.parser.js';
import { parseJsonLog, parseJsonLogLine } from './json-log.parser.js';
import { JSON_LOG_FORMATS, type JsonLogFormat, recognizeJsonLog } from './json-logs.js';
import { isLoadBalancerLine, parseLoadBalancerLine } from './load-balancer-log.parser.js';
import { IN_ARRAY, parseNdjsonLine } from './ndjson.parser.js';
import type { LineResult, ParseOptions } from './parsed-request.js';
import { W3cLogParser, isW3cDirective } from './w3c-log.parser.js';

export const REQUEST_FORMATS = ['ndjson', 'combined', ...JSON_LOG_FORMATS, 'w3c', 'alb'] as const;
export type RequestFormat = (typeof REQUEST_FORMATS)[number];

const COMMENT = /^\s*(?:#|\/\/)/;

/**
 * Parses the lines of one source. By default the first valid line decides the format, so that a comment or a damaged
 * line at the beginning does not decide it. Until then a line is parsed as what it looks like:
 *
 * - with a brace at its beginning, as NDJSON, or else as the JSON log that its members belong to;
 * - behind a `#Fields` line, as W3C extended;
 * - with the fields of an AWS load balancer, as its log;
 * - any other as an access log in the common or the combined format.
 */
export class LineParser {
  /** The beginning of the first line that is not a comment. */
  private opening: string | undefined;
  private readonly w3c = new W3cLogParser();

  constructor(
    private decided: RequestFormat | undefined,
    private readonly options: ParseOptions = {},
  ) {}

  /** The format of the source; undefined as long as no line was valid. */
  get format(): RequestFormat | undefined {
    return this.decided;
  }

  /**
   * The request of a line that is not blank, or the reason why the line is invalid; null for a line that belongs to the
   * format and is no request, such as `#Fields`. Never throws.
   */
  parse(line: string): LineResult | null {
    if (this.decided !== undefined) return this.parseAs(this.decided, line);
    if (isW3cDirective(line)) return this.w3c.parse(line);
    const beginning = line.trimStart().charAt(0);
    const format = this.recognize(line, beginning);
    const result = this.parseAs(format, line);
    if (result !== null && 'reason' in result)
      return { reason: this.explain(line, beginning, result.reason) };
    this.decided = format;
    return result;
  }

  private parseAs(format: RequestFormat, line: string): LineResult | null {
    switch (format) {
      case 'ndjson':
        return parseNdjsonLine(line, this.options);
      case 'combined':
        return parseCombinedLine(line, this.options);
      case 'w3c':
        return this.w3c.parse(line, this.options);
      case 'alb':
        return parseLoadBalancerLine(line, this.options);
      case 'nginx':
      case 'caddy':
      case 'traefik':
      case 'envoy':
        return parseJsonLogLine(format, line, this.options);
    }
  }

  private recognize(line: string, beginning: string): RequestFormat {
    if (beginning === '{') return recognizeJson(line, this.options);
    if (this.w3c.hasFields && !COMMENT.test(line)) return 'w3c';
    return isLoadBalancerLine(line) ? 'alb' : 'combined';
  }

  /** Why a line is invalid in a source without a valid line so far. */
  private explain(line: string, beginning: string, reason: string): string {
    if (COMMENT.test(line)) return 'line: is a comment';
    this.opening ??= beginning;
    if (this.opening === '[') return IN_ARRAY.reason;
    return this.opening === '{' && beginning !== '{' ? 'line: must be valid JSON' : reason;
  }
}

/** A line that has what a request of NDJSON needs is one, also if it has members of another format. */
function recognizeJson(line: string, options: ParseOptions): 'ndjson' | JsonLogFormat {
  if ('record' in parseNdjsonLine(line, options)) return 'ndjson';
  try {
    const log = parseJsonLog(line);
    return (log && recognizeJsonLog(log)?.format) ?? 'ndjson';
  } catch {
    return 'ndjson';
  }
}
