import { type JsonObject, explainFailure } from '../../../records/decoding/decoders.js';
import { type Envelope, peelObject, peelPrefix } from './envelope.js';
import { type FieldMap, parseFieldMap } from './field-map.js';
import { isFormatString, parseFormatString } from './format-strings.js';
import { FORMATS, findJsonFormat } from './log-formats.js';
import { LogReader } from './log-reader.js';
import { IN_ARRAY, isForeignObject, parseNdjsonLine } from './ndjson.parser.js';
import { isJsonObject, parseLogfmt, parseObject } from './object-lines.js';
import type { LineResult, ParseOptions } from './parsed-request.js';
import type { Template } from './template.js';
import {
  W3cLogParser,
  type W3cState,
  isCloudFrontLine,
  isCloudFrontObject,
  isW3cDirective,
  readCloudFrontObject,
} from './w3c-log.parser.js';

/** The names of formats in `--format`. */
export const REQUEST_FORMATS: readonly string[] = [
  'ndjson',
  'w3c',
  'cloudfront',
  ...FORMATS.map(({ name }) => name),
];

/** How the lines of a source are to be read. */
export interface FormatChoice {
  /** One of `REQUEST_FORMATS`; by default the first valid line decides. */
  readonly name?: string | undefined;
  /** The exact form of lines of text. */
  readonly template?: Template | undefined;
  /** Names of values in JSON, which replace the names of the format. */
  readonly map?: FieldMap | undefined;
}

/**
 * Parses the texts of `--format` and `--map`.
 *
 * @param format a name of `REQUEST_FORMATS`, or the text of a server's configuration
 * @throws RangeError with one line that names the mistake
 */
export function parseFormatChoice(format: string | undefined, map: string | undefined): FormatChoice {
  const isText = format !== undefined && !REQUEST_FORMATS.includes(format);
  if (isText && !isFormatString(format))
    throw new RangeError(
      `format: must be one of ${REQUEST_FORMATS.join(', ')}, or the format string of a server`,
    );
  if (map !== undefined && format !== undefined && !READERS.get(format)?.hasObjects)
    throw new RangeError('map: has names of JSON, which the format is not');
  if (isText) return { template: inNameOf('format', () => parseFormatString(format)) };
  return { name: format, map: map === undefined ? undefined : inNameOf('map', () => parseFieldMap(map)) };
}

/** @throws RangeError whose message begins with the name */
function inNameOf<Result>(name: string, parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(`${name}: ${error.message}`) : error;
  }
}

/** What the lines before a line decide; plain data, which another thread can receive. */
export interface LineState {
  /** The format of the source. */
  decided: string | undefined;
  /** The kind of the first line that is not a comment. */
  opening: 'array' | 'object' | 'text' | undefined;
  /** Whether lines were found in members of objects. */
  isInside: boolean;
  /** The parts of a line that a container runtime split. */
  pending: string;
  readonly w3c: W3cState;
}

const COMMENT = /^\s*(?:#|\/\/)/;
const ARRAY = /^\s*\[\s*(?:\{|$)/;
/** Lines that occur next to requests. */
const OTHER_LOGS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['the error log of Apache', /^\[[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? \d{4}\] \[/],
  ['the error log of nginx', /^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d \[[a-z]{4,6}\] \d/],
];
const NOT_AN_OBJECT = { reason: 'line: must be a JSON object' };
/** Largest number of nested envelopes: syslog around Docker around a logger. */
const MAX_LAYERS = 6;
/**
 * Number of values in a line that is enough for a message to name its format: a single one may occur in any
 * text.
 */
const MIN_FOUND = 2;
/** The limit of a single line. */
const MAX_PENDING = 16 * 1024 * 1024;

const READERS: ReadonlyMap<string, LogReader> = new Map(
  FORMATS.map((format) => [format.name, new LogReader(format)] as const),
);
const JSON_FORMAT = 'json';
const FORMAT_STRING = { name: 'format string', label: 'the format string' };

/**
 * Parses the lines of one source. The text that a logger, a container or a shipper wrote around a line is
 * removed first, for every format. By default the first valid line decides the format, so that a comment or a
 * damaged line at the beginning does not decide it. Until then each line is parsed by its form:
 *
 * - with a brace at its beginning: as NDJSON, or as the JSON log that has its members;
 * - after a `#Fields` line: as W3C extended;
 * - any other line: as the first format of text that it matches.
 */
export class LineParser {
  /** Reads with the given format string or map. */
  private readonly custom: LogReader | undefined;
  private readonly hasTemplate: boolean;
  private readonly w3c: W3cLogParser;

  constructor(
    choice: FormatChoice | string | undefined,
    private readonly options: ParseOptions = {},
    readonly state: LineState = {
      decided: undefined,
      opening: undefined,
      isInside: false,
      pending: '',
      w3c: {},
    },
  ) {
    const { name, template, map } = typeof choice === 'string' ? { name: choice } : (choice ?? {});
    this.hasTemplate = template !== undefined;
    if (template !== undefined) this.custom = new LogReader(FORMAT_STRING, {}, template);
    else if (map !== undefined) this.custom = new LogReader(requireReader(name ?? JSON_FORMAT).format, map);
    this.state.decided ??= this.custom?.format.name ?? name;
    this.w3c = new W3cLogParser(this.state.w3c);
  }

  /** The format of the source; undefined as long as no line was valid. */
  get format(): string | undefined {
    return this.state.decided;
  }

  /**
   * The request of a line, or the reason why the line is invalid; null for a line of the format that is not a
   * request, such as `#Fields`. The line is not blank. Never throws.
   */
  parse(line: string): LineResult | null {
    // A text that belongs to the form of a line is not an envelope.
    const exact = this.hasTemplate ? this.parseDecided(line, undefined) : null;
    return exact !== null && 'record' in exact ? exact : this.parseLayer(line, undefined, MAX_LAYERS);
  }

  /** @param loggedAt time of the envelope around the line */
  private parseLayer(line: string, loggedAt: unknown, layers: number): LineResult | null {
    const envelope = layers === 0 ? null : peelPrefix(line);
    if (envelope !== null) return this.parseInside(envelope, loggedAt, layers - 1);
    const result =
      this.state.decided === undefined ? this.detect(line, loggedAt) : this.parseDecided(line, loggedAt);
    if (result === null || 'record' in result || layers === 0 || !isJsonObject(line)) return result;
    const around = findEnvelope(line);
    const inside = around && this.parseInside(around, loggedAt, layers - 1);
    if (inside === null) return around === null ? result : null;
    this.state.isInside ||= 'record' in inside;
    return this.state.isInside || around?.isKnown ? inside : result;
  }

  private parseInside(
    { inside, time, isPartial }: Envelope,
    loggedAt: unknown,
    layers: number,
  ): LineResult | null {
    const text = typeof inside === 'string' ? inside : JSON.stringify(inside);
    const before = this.state.pending;
    this.state.pending = '';
    if (isPartial && before.length + text.length < MAX_PENDING) {
      this.state.pending = before + text;
      return null;
    }
    if (text.trim() === '') return null;
    const result = this.parseLayer(before + text, time ?? loggedAt, layers);
    const isUnrelated = before !== '' && result !== null && 'reason' in result;
    return isUnrelated ? this.parseLayer(text, time ?? loggedAt, layers) : result;
  }

  private parseDecided(line: string, loggedAt: unknown): LineResult | null {
    const name = this.state.decided ?? '';
    switch (name) {
      case 'ndjson':
        return parseNdjsonLine(line, this.options);
      case 'w3c':
        return this.w3c.parse(line, this.options, loggedAt);
      case 'cloudfront':
        return isJsonObject(line)
          ? this.parseObject(line, (object) => readCloudFrontObject(object, this.options))
          : this.w3c.parse(line, this.options, loggedAt);
      default:
        return this.parseAs(this.custom ?? requireReader(name), line, loggedAt);
    }
  }

  private parseAs(reader: LogReader, line: string, loggedAt: unknown): LineResult {
    if (reader.hasObjects) {
      if (isJsonObject(line))
        return this.parseObject(line, (object) => reader.readObject(object, this.options, loggedAt));
      const values = parseLogfmt(line);
      if (values !== undefined) return reader.readObject(values, this.options, loggedAt);
      if (!reader.hasLines) return NOT_AN_OBJECT;
    }
    const { result } = reader.readText(line, this.options, loggedAt);
    return 'reason' in result ? { reason: explainOther(line) ?? result.reason } : result;
  }

  private parseObject(line: string, read: (object: JsonObject) => LineResult): LineResult {
    try {
      const object = parseObject(line);
      return object === undefined ? NOT_AN_OBJECT : read(object);
    } catch (error) {
      return { reason: explainFailure(error, 'line') };
    }
  }

  private detect(line: string, loggedAt: unknown): LineResult | null {
    if (isW3cDirective(line)) return this.w3c.parse(line);
    const [name, result] = this.recognize(line, loggedAt);
    if ('reason' in result) return { reason: this.explain(line, result.reason) };
    this.state.decided = name;
    return result;
  }

  /** The format that a line was read as, and the result. */
  private recognize(line: string, loggedAt: unknown): [name: string, result: LineResult] {
    if (isJsonObject(line)) return this.recognizeObject(line, loggedAt);
    const isEntry = this.w3c.hasFields && !COMMENT.test(line);
    if (isEntry || isCloudFrontLine(line))
      return [isEntry ? 'w3c' : 'cloudfront', this.w3c.parse(line, this.options, loggedAt) ?? NOT_AN_OBJECT];
    const values = parseLogfmt(line);
    if (values !== undefined) {
      const jsonFormat = findJsonFormat(values);
      const result = requireReader(jsonFormat?.name ?? JSON_FORMAT).readObject(
        values,
        this.options,
        loggedAt,
      );
      if (jsonFormat || 'record' in result) return [jsonFormat?.name ?? JSON_FORMAT, result];
    }
    let best: [name: string, result: LineResult] | undefined;
    let mostFound = MIN_FOUND - 1;
    for (const [name, reader] of READERS) {
      if (!reader.hasLines) continue;
      const { result, found } = reader.readText(line, this.options, loggedAt);
      if ('record' in result) return [name, result];
      if (best !== undefined && found <= mostFound) continue;
      best = [name, result];
      mostFound = Math.max(mostFound, found);
    }
    return best ?? ['', NOT_AN_OBJECT];
  }

  private recognizeObject(line: string, loggedAt: unknown): [name: string, result: LineResult] {
    // A line with the required members of NDJSON is NDJSON, even if it has members of another format.
    const result = parseNdjsonLine(line, this.options);
    if ('record' in result) return ['ndjson', result];
    const object = tryParseObject(line);
    if (object === undefined) return ['', result];
    if (isCloudFrontObject(object)) return ['cloudfront', readCloudFrontObject(object, this.options)];
    const format = findJsonFormat(object);
    if (format === undefined && !isForeignObject(object)) return ['', result];
    const read = requireReader(format?.name ?? JSON_FORMAT).readObject(object, this.options, loggedAt);
    return format === undefined && 'reason' in read ? ['', result] : [format?.name ?? JSON_FORMAT, read];
  }

  /** Why a line is invalid in a source without a valid line so far. */
  private explain(line: string, reason: string): string {
    if (COMMENT.test(line)) return 'line: is a comment';
    const isObject = isJsonObject(line);
    this.state.opening ??= isObject ? 'object' : ARRAY.test(line) ? 'array' : 'text';
    if (this.state.opening === 'array') return IN_ARRAY.reason;
    if (this.state.opening === 'object' && !isObject) return 'line: must be valid JSON';
    return explainOther(line) ?? reason;
  }
}

function requireReader(name: string): LogReader {
  const reader = READERS.get(name);
  if (reader === undefined) throw new RangeError(`There is no format ${name}`);
  return reader;
}

function explainOther(line: string): string | undefined {
  const other = OTHER_LOGS.find(([, pattern]) => pattern.test(line))?.[0];
  return other && `line: is of ${other}, not a request`;
}

function findEnvelope(line: string): Envelope | null {
  const object = tryParseObject(line);
  return object === undefined ? null : peelObject(object);
}

function tryParseObject(line: string): JsonObject | undefined {
  try {
    return parseObject(line);
  } catch (error) {
    explainFailure(error, 'line');
    return undefined;
  }
}
