import { decodeLine } from '../../decoding/line-splitter.js';
import type { LineResult, ParseOptions } from '../formats/parsed-request.js';
import { type FormatChoice, LineParser, type LineState } from '../formats/request-format.js';
import { digestLine } from './line-identity.js';

/** How a line is to be parsed outside of its source: plain data, which another thread can receive. */
export interface LongLine {
  /** Its number in the source. */
  readonly number: number;
  readonly format: FormatChoice | string | undefined;
  readonly options: ParseOptions;
  /** What the lines before it decided. */
  readonly state: LineState;
  /** Environment of a request without one. */
  readonly env: string;
  readonly source: string;
}

export interface ParsedLine {
  readonly result: LineResult | null;
  /** Of its request, for its identity. */
  readonly digest: string;
  readonly state: LineState;
}

/** Parses a single line as `LineParser` does. */
export function parseLongLine(bytes: Buffer, line: LongLine): ParsedLine {
  const parser = new LineParser(line.format, line.options, line.state);
  const text = decodeLine(bytes, line.number);
  const result = text.trim() === '' ? null : parser.parse(text);
  const isRequest = result !== null && 'record' in result;
  const digest = isRequest ? digestLine(result.record.env ?? line.env, line.source, text) : '';
  return { result, digest, state: parser.state };
}
