import { parseCombinedLine } from './combined-log.parser.js';
import { parseNdjsonLine } from './ndjson.parser.js';
import type { LineResult } from './parsed-request.js';

export const REQUEST_FORMATS = ['ndjson', 'combined'] as const;
export type RequestFormat = (typeof REQUEST_FORMATS)[number];

const PARSERS = { ndjson: parseNdjsonLine, combined: parseCombinedLine };

/** The format of a file by its first line that is not blank: no access log begins with a brace. */
export function guessFormat(line: string): RequestFormat {
  return line.trimStart().startsWith('{') ? 'ndjson' : 'combined';
}

/**
 * Reads one line of that format: the request, or the reason for which it is none. Never throws.
 *
 * @param shiftMs whole milliseconds by which all times of the request, those captured with it included, are moved
 */
export function parseLine(format: RequestFormat, line: string, shiftMs = 0): LineResult {
  return PARSERS[format](line, shiftMs);
}
