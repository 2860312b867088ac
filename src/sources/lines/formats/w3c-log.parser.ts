import { type LogValues, isBlank, toRequest } from './access-log.js';
import type { JsonObject } from '../../../records/decoding/decoders.js';
import { type FieldMap, FieldReader } from './field-map.js';
import type { LineResult, ParseOptions } from './parsed-request.js';
import { sanitize } from '../../../records/text.js';

/** The directives of the W3C draft, and one of Microsoft's. */
const DIRECTIVE = /^#(Version|Fields|Software|Start-Date|End-Date|Date|Remark|GMT-Offset):[ \t]*(.*)$/i;
const PERCENT = /(?:%[\da-f]{2}){1,4096}/gi;
/** A host in place of a path, as Imperva writes it. */
const HOST_AND_PATH = /^([\w-]{1,63}(?:\.[\w-]{1,63}){1,10}(?::\d{1,5})?)(\/.*)?$/s;
/** More than any log has. */
const MAX_FIELDS = 256;
const NO_FIELDS = { reason: 'line: there is no #Fields line before it' };
const OTHER_COUNT = { reason: 'line: must have as many values as the #Fields line before it has names' };

/** Names of values, in lower case. */
const W3C: FieldMap = {
  timestamp: 'timestamp(ms)',
  date: ['date', 'date-utc', 'date-local', '#date'],
  time: ['time', 'time-utc', 'time-local'],
  method: 'cs-method',
  path: 'cs-uri-stem',
  query: 'cs-uri-query',
  url: 'cs-uri',
  host: ['x-host-header', 'cs-host', 'cs(host)'],
  port: 's-port',
  scheme: 'cs-protocol',
  status_code: 'sc-status',
  client_ip: 'c-ip',
  forwarded_for: ['x-forwarded-for', 'cs(x-forwarded-for)'],
  user: 'cs-username',
  request_size_bytes: 'cs-bytes',
  response_size_bytes: 'sc-bytes',
  response_time_ms: ['time-taken', 'timetakenms'],
  request_headers: { pattern: /^cs\((?!host\))([\w-]{1,128})\)$/ },
};

/** Fields of CloudFront's standard logs, in their order; older logs have only the first ones. */
const CLOUDFRONT_FIELDS = [
  'date time x-edge-location sc-bytes c-ip cs-method cs(host) cs-uri-stem sc-status cs(referer) cs(user-agent) cs-uri-query',
  'cs(cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol',
  'ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte',
  'x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end',
]
  .join(' ')
  .split(' ');
const CLOUDFRONT_LINE =
  /^\d{4}-\d\d-\d\d\t\d\d:\d\d:\d\d\t[A-Z]{3}[\w-]{1,32}\t(?:\d{1,15}|-)\t\S{1,64}\t[A-Z]{1,32}\t/;

const reader = new FieldReader(W3C);

/** Whether a line is a directive, such as `#Fields: date time`, and not an entry. */
export function isW3cDirective(line: string): boolean {
  return DIRECTIVE.test(line);
}

/** Whether an object is a request of CloudFront's standard logs in JSON, which has the same names. */
export function isCloudFrontObject(line: JsonObject): boolean {
  return Object.hasOwn(line, 'sc-status') && Object.hasOwn(line, 'cs-method');
}

export function readCloudFrontObject(line: JsonObject, options: ParseOptions): LineResult {
  return readW3cEntry(
    Object.fromEntries(Object.entries(line).map(([name, value]) => [name.toLowerCase(), value])),
    options,
  );
}

/**
 * Whether a line is an entry of CloudFront's standard logs. Its `#Fields` line may be missing if files were
 * split.
 */
export function isCloudFrontLine(line: string): boolean {
  return CLOUDFRONT_LINE.test(line);
}

/**
 * The request of an entry in the W3C extended format, by the names of its fields.
 *
 * Times are UTC. `time-taken` is in milliseconds in logs of IIS and in seconds in those of CloudFront;
 * elsewhere a value with a decimal point is in seconds. IIS writes a plus sign for a blank in headers,
 * CloudFront percent-encodes them.
 */
function readW3cEntry(entry: JsonObject, options: ParseOptions, loggedAt?: unknown): LineResult {
  const { url, response_time_ms: taken, request_headers = [], ...values } = reader.read(entry);
  const isCloudFront = ['x-edge-location', 'x-edge-request-id', 'x-edge-result-type'].some((name) =>
    Object.hasOwn(entry, name),
  );
  const isSeconds = isCloudFront || String(taken).includes('.');
  const decode = isCloudFront ? decodeTwice : (text: string) => text.replaceAll('+', ' ');
  const corrected: LogValues = {
    ...values,
    ...(isBlank(values.path) && splitHost(url, values)),
    ...(isSeconds ? { response_time_s: taken } : { response_time_ms: taken }),
    request_headers: request_headers.map(([name, value]) => [name, sanitize(decode(value))]),
  };
  return toRequest(corrected, reader.names, options, loggedAt);
}

/** Path and host of `cs-uri`, which may contain both. */
function splitHost(url: unknown, { host }: LogValues): LogValues {
  const [, name, path] = HOST_AND_PATH.exec(typeof url === 'string' ? url : '') ?? [];
  return name === undefined ? { path: url } : { path: path ?? '/', host: host ?? name };
}

/** What directives said. */
export interface W3cState {
  fields?: readonly string[] | undefined;
  /** The date of the log, for entries without their own date. */
  date?: string | undefined;
}

/**
 * Reads access logs in the W3C extended format, as IIS and CloudFront write it. A `#Fields` line names the
 * values of the entries after it, up to the next such line. Values are separated by tabs if the line has one,
 * otherwise by blanks. A hyphen means that there is no value.
 */
export class W3cLogParser {
  constructor(private readonly state: W3cState) {}

  /** Whether there was a `#Fields` line. */
  get hasFields(): boolean {
    return this.state.fields !== undefined;
  }

  /** The request of an entry, or the reason why it is invalid; null for a directive. Never throws. */
  parse(line: string, options: ParseOptions = {}, loggedAt?: unknown): LineResult | null {
    const [, directive, value = ''] = DIRECTIVE.exec(line) ?? [];
    if (directive !== undefined) this.readDirective(directive.toLowerCase(), value);
    if (directive !== undefined || line.startsWith('#')) return null;
    const fields = this.state.fields ?? (isCloudFrontLine(line) ? CLOUDFRONT_FIELDS : undefined);
    if (fields === undefined) return NO_FIELDS;
    const values = splitValues(line);
    if (this.hasFields && values.length !== fields.length) return OTHER_COUNT;
    const entry = fields.map((name, index) => [name, values[index] ?? '-'] as const);
    return readW3cEntry(Object.fromEntries([...entry, ['#date', this.state.date]]), options, loggedAt);
  }

  private readDirective(name: string, value: string) {
    if (name === 'fields') this.state.fields = splitValues(value.toLowerCase()).slice(0, MAX_FIELDS);
    else if (name === 'date') this.state.date = /^\d{4}-\d\d-\d\d/.exec(value)?.[0];
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

/** Offset of the quote that closes a quoted value, in which two quotes stand for one; -1 if it stays open. */
function findClosingQuote(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote !== -1 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
  return quote;
}

/** Older logs of CloudFront are encoded twice. */
function decodeTwice(text: string): string {
  const decoded = decodePercent(text);
  return decoded.includes(' ') ? decoded : decodePercent(decoded);
}

/** Decodes percent-encoding; a percent sign that does not begin a byte is kept. */
function decodePercent(text: string): string {
  return text.replace(PERCENT, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString());
}
