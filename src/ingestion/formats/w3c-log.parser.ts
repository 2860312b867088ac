import { type Header, getHeader } from '../capture.js';
import {
  type ValueNames,
  findAddress,
  readRequired,
  readTraceId,
  toMilliseconds,
  toNumber,
  toOrigin,
  toRecord,
} from './access-log.js';
import { LenientReader } from './decoders.js';
import type { LineResult, ParseOptions } from './parsed-request.js';
import { sanitize } from './text.js';
import { parseIngestTimestamp } from './timestamps.js';

/** The directives of the W3C draft, and one of Microsoft's. */
const DIRECTIVE = /^#(Version|Fields|Software|Start-Date|End-Date|Date|Remark|GMT-Offset):[ \t]*(.*)$/i;
/** A header: `cs(User-Agent)`. */
const HEADER = /^cs\(([\w-]{1,128})\)$/i;
const PERCENT = /(?:%[\da-f]{2}){1,4096}/gi;
/** More than any log has. */
const MAX_FIELDS = 256;
const NAMES: ValueNames = {
  timestamp: 'date and time',
  method: 'cs-method',
  url: 'cs-uri-stem or cs-uri',
  status_code: 'sc-status',
};
const NO_FIELDS = { reason: 'line: there is no #Fields line before it' };
const OTHER_COUNT = { reason: 'line: must have as many values as the #Fields line before it has names' };

/** Whether a line is a directive, such as `#Fields: date time`, and not an entry. */
export function isW3cDirective(line: string): boolean {
  return DIRECTIVE.test(line);
}

/**
 * Reads access logs in the W3C extended format, as IIS and CloudFront write it: a `#Fields` line names the values of the
 * entries that follow, up to the next such line. Values are separated by tabs if the line has one, otherwise by blanks. A
 * hyphen means that there is no value.
 *
 * Times are UTC. `time-taken` is in milliseconds in logs of IIS and in seconds in those of CloudFront; elsewhere a value
 * with a decimal point is in seconds. IIS writes a plus sign for a blank in headers, CloudFront percent-encodes them.
 */
export class W3cLogParser {
  private fields: readonly string[] | undefined;
  /** Of the log, for entries without a date of their own. */
  private date: string | undefined;

  /** Whether there was a `#Fields` line. */
  get hasFields(): boolean {
    return this.fields !== undefined;
  }

  /** The request of an entry, or the reason why it is invalid; null for a directive. Never throws. */
  parse(line: string, options: ParseOptions = {}): LineResult | null {
    const [, directive, value = ''] = DIRECTIVE.exec(line) ?? [];
    if (directive !== undefined) this.readDirective(directive.toLowerCase(), value);
    if (directive !== undefined || line.startsWith('#')) return null;
    if (this.fields === undefined) return NO_FIELDS;
    const values = splitValues(line);
    if (values.length !== this.fields.length) return OTHER_COUNT;
    return this.readEntry(new Map(this.fields.map((name, index) => [name, values[index] ?? '-'])), options);
  }

  private readDirective(name: string, value: string) {
    if (name === 'fields') this.fields = splitValues(value.toLowerCase()).slice(0, MAX_FIELDS);
    else if (name === 'date') this.date = /^\d{4}-\d\d-\d\d/.exec(value)?.[0];
  }

  private readEntry(entry: ReadonlyMap<string, string>, options: ParseOptions): LineResult {
    const findValue = (...names: readonly string[]) =>
      names
        .map((name) => entry.get(name))
        .find((value) => value !== undefined && value !== '-' && value !== '');
    const isCloudFront = entry.has('x-edge-location') || entry.has('x-edge-request-id');
    const request_headers = readHeaders(entry, isCloudFront);
    const host = findValue('x-host-header', 'cs-host', 'cs(host)');
    const scheme = findValue('cs-protocol') ?? (findValue('s-port') === '443' ? 'https' : undefined);
    const values = {
      timestamp: this.readTime(findValue('date'), findValue('time'), findValue('timestamp(ms)')),
      method: findValue('cs-method'),
      target: toTarget(findValue('cs-uri-stem'), findValue('cs-uri-query'), findValue('cs-uri')),
      origin: host === undefined ? undefined : toOrigin(host, scheme),
      status: findValue('sc-status'),
    };
    const required = readRequired(values, NAMES, options.baseUrl);
    if ('reason' in required) return required;
    const taken = findValue('time-taken');
    const isSeconds = isCloudFront || taken?.includes('.') === true;
    const request = {
      ...required,
      user: findValue('cs-username') ?? null,
      client_ip: findAddress(findValue('c-ip') ?? '', findValue('x-forwarded-for') ?? null),
      request_size_bytes: toNumber(findValue('cs-bytes')),
      response_size_bytes: toNumber(findValue('sc-bytes')),
      response_time_ms: toMilliseconds(taken, isSeconds ? 1_000 : 1),
      userAgent: getHeader(request_headers, 'user-agent'),
      request_headers,
      trace_id: readTraceId(getHeader(request_headers, 'traceparent') ?? ''),
    };
    return toRecord(request, options, new LenientReader());
  }

  private readTime(date = this.date, time: string | undefined, epochMs: string | undefined) {
    if (epochMs !== undefined) return Number(epochMs);
    if (date === undefined || time === undefined) return undefined;
    return parseIngestTimestamp(`${date}T${time}Z`) ?? NaN;
  }
}

function splitValues(line: string): string[] {
  if (line.includes('\t')) return line.split('\t', MAX_FIELDS + 1);
  const values: string[] = [];
  const text = line.trim();
  for (let at = 0; at < text.length && values.length <= MAX_FIELDS; at++) {
    if (text[at] === ' ') continue;
    const closing = text[at] === '"' ? findClosingQuote(text, at) : -1;
    const blank = text.indexOf(' ', closing === -1 ? at : closing);
    const end = blank === -1 ? text.length : blank;
    values.push(
      closing === end - 1 ? text.slice(at + 1, closing).replaceAll('""', '"') : text.slice(at, end),
    );
    at = end;
  }
  return values;
}

/** Of a value in quotes, in which two quotes stand for one; -1 if it stays open. */
function findClosingQuote(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote !== -1 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
  return quote;
}

function toTarget(stem: string | undefined, query: string | undefined, uri: string | undefined) {
  if (stem === undefined) return uri;
  return query === undefined ? stem : `${stem}?${query}`;
}

/** The headers of an entry, without that of the host, which is part of the URL. */
function readHeaders(entry: ReadonlyMap<string, string>, isCloudFront: boolean): Header[] {
  const headers: Header[] = [];
  for (const [field, value] of entry) {
    const name = HEADER.exec(field)?.[1];
    if (name === undefined || name === 'host' || value === '-' || value === '') continue;
    headers.push([name, sanitize(isCloudFront ? decodeTwice(value) : value.replaceAll('+', ' '))]);
  }
  return headers;
}

/** Older logs of CloudFront are encoded twice. */
function decodeTwice(text: string): string {
  const decoded = decodePercent(text);
  return decoded.includes(' ') ? decoded : decodePercent(decoded);
}

/** Undoes percent-encoding; a percent sign that begins no byte is kept. */
function decodePercent(text: string): string {
  return text.replace(PERCENT, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString());
}
