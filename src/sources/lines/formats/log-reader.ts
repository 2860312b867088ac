import { isBlank, toRequest } from './access-log.js';
import type { JsonObject } from '../../../records/decoding/decoders.js';
import { type FieldMap, FieldReader, mergeFields } from './field-map.js';
import { parseTemplate } from './format-strings.js';
import { type LogFormat, VARIABLES } from './log-formats.js';
import type { LineResult, ParseOptions } from './parsed-request.js';
import { LOG_TIME, type Template, TemplateMatcher } from './template.js';

/** Servers escape quotes in values, so that no client can write this into a field. */
const NEXT_REQUEST = new RegExp(
  String.raw`${LOG_TIME}[^"\\]{0,512}"[A-Z]{1,32} [^"]{1,65536} HTTP/\d(?:\.\d)?"`,
);
const NOT_THE_LAST = 'line: another request follows; each must end with a line feed';

/** The place of the time for a line without a time, as text of an error message. */
const TIME_AROUND = 'a time around it, as syslog and containers write it';

const variables = new FieldReader(VARIABLES);
const NO_TIME = { ...variables.names, timestamp: TIME_AROUND };

/** The request of a line of text, or why the line is invalid; and how many of its values were found. */
interface TextResult {
  readonly result: LineResult;
  readonly found: number;
}

/** Reads the lines of one format. */
export class LogReader {
  private readonly matchers: readonly TemplateMatcher[];
  private readonly fields: FieldReader | undefined;

  /**
   * @param map names of values in objects, which replace the format's own
   * @param template the exact form of lines, which replaces the format's own
   */
  constructor(
    readonly format: LogFormat,
    map: FieldMap = {},
    template?: Template,
  ) {
    const { lines = [], fields, isExact = false, isPadded, hasEscapes } = format;
    this.matchers =
      template === undefined
        ? lines.map(
            (line) => new TemplateMatcher(parseTemplate(line), { isOpen: !isExact, isPadded, hasEscapes }),
          )
        : [new TemplateMatcher(template)];
    this.fields = fields && new FieldReader(mergeFields(fields, map));
  }

  get hasObjects(): boolean {
    return this.fields !== undefined;
  }

  get hasLines(): boolean {
    return this.matchers.length > 0;
  }

  /** The request of an object. @param loggedAt see `toRequest` */
  readObject(line: JsonObject, options: ParseOptions, loggedAt?: unknown): LineResult {
    const { explain, correct = (values) => values } = this.format;
    if (this.fields === undefined) return { reason: this.explainText('', '') };
    const reason = explain?.(line);
    if (reason !== undefined) return { reason };
    const { names } = this.fields;
    return toRequest(
      correct(this.fields.read(line), line),
      { ...names, timestamp: names.timestamp || TIME_AROUND },
      options,
      loggedAt,
    );
  }

  /** The request of a line of text. */
  readText(line: string, options: ParseOptions, loggedAt?: unknown): TextResult {
    let best: { found: number; missing: string } = { found: -1, missing: '' };
    for (const matcher of this.matchers) {
      const match = matcher.match(line);
      if (!('values' in match)) {
        if (match.found > best.found) best = match;
        continue;
      }
      const values = this.format.read
        ? this.format.read(match.values)
        : variables.read(toObject(matcher.names, match.values));
      if (values === null) {
        best = { found: best.found, missing: best.missing || 'body_bytes_sent' };
        continue;
      }
      if (matcher.hasEscapes && match.tail.includes(' HTTP/') && NEXT_REQUEST.test(match.tail))
        return { result: { reason: NOT_THE_LAST }, found: Infinity };
      return {
        result: toRequest(values, matcher.hasTime ? variables.names : NO_TIME, options, loggedAt),
        found: Infinity,
      };
    }
    return { result: { reason: this.explainText(line, best.missing) }, found: best.found };
  }

  private explainText(line: string, missing: string): string {
    const { explainText, label } = this.format;
    const behind = line.slice(line.indexOf('"') + 1);
    if (NEXT_REQUEST.test(behind)) return NOT_THE_LAST;
    if (explainText !== undefined) return explainText(line, missing);
    return `line: does not have the form of ${label}${missing === '' || missing === '_' ? '' : `; there is no valid $${missing}`}`;
  }
}

/** Values by their names. If names repeat, the first that has a value counts. */
function toObject(names: readonly string[], values: readonly string[]): JsonObject {
  const pairs = new Map<string, string>();
  for (const [index, value] of values.entries()) {
    const name = names[index] ?? '';
    // A hyphen of Apache means that no bytes were sent.
    if (name === 'body_bytes_sent' && value === '-') pairs.set(name, '0');
    else if (isBlank(pairs.get(name))) pairs.set(name, value);
  }
  return Object.fromEntries(pairs);
}
