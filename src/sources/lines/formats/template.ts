import { unescapeText } from './access-log.js';
import { findClosingQuote } from '../../../shared/json/closing-quote.js';

/** The form of a line of text: values, named by nginx's variables, with fixed text between them. */
export interface Template {
  readonly fields: readonly Field[];
  /** The text after the last value. */
  readonly end: string;
  /** Whether the server writes a backslash before a quote in a value. */
  readonly hasEscapes: boolean;
}

interface Field {
  readonly name: string;
  /** The text between the previous value, or the line's beginning, and this value. */
  readonly before: string;
  /** The shape of the value as text of a regular expression, if its name does not imply the shape. */
  readonly shape?: string | undefined;
}

/** A line that matches a template, or how much of it matches. */
export type TemplateMatch =
  | {
      readonly values: readonly string[];
      /** The text after the last required value. */
      readonly tail: string;
    }
  /**
   * Number of values found by their shape; and the name of the value that was not found, or no name for the
   * line's end.
   */
  | { readonly found: number; readonly missing: string };

const CLOCK = String.raw`\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[A-Z]{3}|[+-]\d\d:?\d\d))?`;
const DATE = String.raw`(?:\d{1,2}[/ -][A-Z][a-z]{2}[/ -]\d{4}[: ]|\d{4}[/-]\d\d[/-]\d\d(?:[T ]| - ))`;
const NUMBER = String.raw`[+-]?\d{1,20}(?:\.\d{1,9})?`;
const ADDRESS = String.raw`(?:\[[\w.:%]{1,64}\](?::\d{1,5})?|[\w.:%-]{1,255})`;
const list = (item: string) => `${item}(?:(?:, ?| : )${item}){0,32}`;
const optional = (item: string) => `(?:-|${item})`;

/** The time of an access log, as text of a regular expression. */
export const LOG_TIME = DATE + CLOCK;

/**
 * The shapes of values that are recognized by their shape. The text after such a value may also occur inside
 * it, as a bracket in a user's name.
 */
const SHAPES: readonly (readonly [shape: string, ...names: string[]])[] = [
  [LOG_TIME, 'time_local', 'request_creation_time'],
  [String.raw`\d{4}-\d\d-\d\dT` + CLOCK, 'time_iso8601'],
  [String.raw`\d{1,5}(?!\d)`, 'status'],
  [optional(String.raw`\+?\d{1,20}`), 'request_length', 'content_length', 'body_bytes_sent', 'bytes_sent'],
  [
    optional(NUMBER),
    'msec',
    'elb_status_code',
    'server_port',
    'request_time',
    'request_time_ms',
    'request_time_us',
  ],
  [`${NUMBER} ${NUMBER} ${NUMBER}`, 'processing_times'],
  [
    list(optional(NUMBER)),
    'upstream_response_time',
    'upstream_connect_time',
    'upstream_header_time',
    'upstream_status',
  ],
  [String.raw`[\w.:%[\]-]{1,320}`, 'client_ip_port'],
  [String.raw`[A-Za-z][\w-]{0,31}`, 'request_method'],
  [list(ADDRESS), 'remote_addr', 'http_x_forwarded_for', 'proxy_add_x_forwarded_for', 'upstream_addr'],
];
const SHAPE_OF: ReadonlyMap<string, string> = new Map(
  SHAPES.flatMap(([shape, ...names]) => names.map((name) => [name, shape] as const)),
);
/** Parts of a line that are parsed further, with their escapes. */
const SEVERAL: ReadonlySet<string> = new Set(['before', 'behind']);
/** Required values of a request; after the last of them the line may end. */
const REQUIRED = /^(?:time_\w+|msec|request|request_method|request_uri|uri|(?:elb_)?status|body_bytes_sent)$/;

export interface MatcherOptions {
  /** Whether lines may have more or fewer values at their end, and may be cut off inside a quoted value. */
  isOpen?: boolean;
  /** Whether blanks pad columns. */
  isPadded?: boolean;
  /** Whether the server writes a backslash before a quote in a value; by default the template decides. */
  hasEscapes?: boolean | undefined;
}

interface CompiledField {
  readonly name: string;
  /** The text between the value and the next one, or the end of the line. */
  readonly after: string;
  /** Matches the value at `lastIndex`. */
  readonly shape: RegExp | undefined;
  /** Matches the value together with the text after it. */
  readonly place: RegExp | undefined;
  /** Whether its escapes are decoded. */
  readonly isEscaped: boolean;
}

/** The template. @throws RangeError if no text separates two of its values */
export function checkTemplate(template: Template): Template {
  for (const [index, { name, shape }] of template.fields.entries()) {
    const next = template.fields[index + 1];
    if (next?.before === '' && shape === undefined && !SHAPE_OF.has(name))
      throw new RangeError(`has nothing between $${name} and $${next.name}`);
  }
  return template;
}

/** Finds the values of lines that match a template, in linear time. */
export class TemplateMatcher {
  /** The names of the values, in their order. */
  readonly names: readonly string[];
  readonly hasEscapes: boolean;
  /** Whether lines have a time. */
  readonly hasTime: boolean;
  private readonly before: string;
  private readonly fields: readonly CompiledField[];
  private readonly lastRequired: number;
  private readonly isOpen: boolean;
  private readonly isPadded: boolean;
  /** Offset of the next value's end, if it is known; -1 otherwise. */
  private nextEnd = -1;

  constructor(
    { fields, end, hasEscapes: escapes }: Template,
    { isOpen = false, isPadded = false, hasEscapes = escapes }: MatcherOptions = {},
  ) {
    this.names = fields.map(({ name }) => name);
    this.hasEscapes = hasEscapes;
    this.hasTime = this.names.some((name) => /^(?:time_|msec$)/.test(name));
    this.isOpen = isOpen;
    this.isPadded = isPadded;
    this.before = fields[0]?.before ?? '';
    this.fields = fields.map(({ name, shape: ownShape }, index) => {
      const next = fields[index + 1];
      const after = next?.before ?? end;
      // A value in quotes ends with them, whatever its shape.
      const shape = after.startsWith('"') ? undefined : (ownShape ?? SHAPE_OF.get(name));
      const isEscaped = hasEscapes && !SEVERAL.has(name);
      if (shape === undefined) return { name, after, shape, place: undefined, isEscaped };
      return {
        name,
        after,
        shape: new RegExp(shape, 'y'),
        place: new RegExp(shape + escape(after), 'y'),
        isEscaped,
      };
    });
    this.lastRequired = fields.findLastIndex(({ name }) => REQUIRED.test(name));
  }

  /** The values of a line, with their escapes decoded. */
  match(given: string): TemplateMatch {
    const line = this.isPadded ? given.replace(/ {2,}/g, ' ') : given;
    const { fields, lastRequired, isOpen } = this;
    if (!line.startsWith(this.before)) return { found: 0, missing: this.names[0] ?? '' };
    const values: string[] = [];
    let at = this.before.length;
    let tailAt = 0;
    let found = 0;
    this.nextEnd = -1;
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index];
      if (field === undefined) break;
      const { name, after, shape, isEscaped } = field;
      const mayEnd = isOpen && index >= lastRequired;
      let end = this.nextEnd;
      this.nextEnd = -1;
      if (end === -1)
        end = shape === undefined ? this.findEnd(line, at, after, fields[index + 1]) : endOf(shape, line, at);
      if (end === -1 && mayEnd && shape === undefined) end = line.length;
      const isFollowed = end !== -1 && line.startsWith(after, end);
      if (end === -1 || !(isFollowed || mayEnd)) return { found, missing: name };
      if (shape !== undefined) found += 1;
      const value = line.slice(at, end);
      values.push(isEscaped ? unescapeText(value) : value);
      if (index === lastRequired) tailAt = end;
      if (!isFollowed) return { values, tail: line.slice(tailAt) };
      at = end + after.length;
    }
    if (at < line.length && !isOpen) return { found, missing: '' };
    return { values, tail: line.slice(tailAt) };
  }

  /**
   * Offset of the end of a value that is only known by the text after it; -1 if that text does not follow.
   */
  private findEnd(line: string, at: number, after: string, next: CompiledField | undefined): number {
    if (after === '') return line.length;
    // If servers escape quotes, the first quote without an escape ends the value.
    if (this.hasEscapes && after.startsWith('"')) {
      const quote = findClosingQuote(line, at - 1);
      return line.startsWith(after, quote) ? quote : -1;
    }
    const place = next?.place;
    for (let end = line.indexOf(after, at); end !== -1; end = line.indexOf(after, end + 1)) {
      if (next === undefined || place === undefined) return end;
      const placeEnd = endOf(place, line, end + after.length);
      if (placeEnd === -1) continue;
      this.nextEnd = placeEnd - next.after.length;
      return end;
    }
    return -1;
  }
}

/** A regular expression that matches exactly this text. */
export function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

function endOf(shape: RegExp, line: string, at: number): number {
  shape.lastIndex = at;
  return shape.test(line) ? shape.lastIndex : -1;
}
