import { isUtf8 } from 'node:buffer';
import { isNumber } from 'lossless-json';
import type { LenientReader } from '../../records/decoding/decoders.js';
import { normalizeRoutePattern } from '../decoding/path-pattern.js';
import { methodDecoder, readConsumer } from '../decoding/request-decoders.js';
import { OTHER_METHOD, sanitize, truncate } from '../../records/text.js';
import { MAX_ATTRIBUTES, MAX_ATTRIBUTE_NAME, MAX_VALUE, VALUE_TOO_LARGE } from '../../records/limits.js';
import type { ConsumerRecord } from '../../records/request-record.js';
import type { AnyValue, KeyValue } from './generated/opentelemetry/proto/common/v1/common_pb.js';

/** Text has no control characters except white space. */
const CONTROL_CHARACTER = /[^\P{Cc}\t\r\n]/u;

/** Attributes of a resource, a span or a data point, by key. If a key repeats, the first attribute counts. */
export class Attributes {
  private readonly values = new Map<string, AnyValue['value']>();

  constructor(attributes: readonly KeyValue[]) {
    for (const { key, value } of attributes)
      if (value?.value.case !== undefined && !this.values.has(key)) this.values.set(key, value.value);
  }

  /**
   * The value of the first key that has one, as text; numbers and booleans as in JSON. Empty text is a value,
   * but a key with a value that is not blank comes first.
   */
  findText(...keys: readonly string[]): string | undefined {
    let blank: string | undefined;
    for (const key of keys) {
      const text = scalarText(this.values.get(key));
      if (text !== undefined && text.trim() !== '') return sanitize(text);
      blank ??= text;
    }
    return blank === undefined ? undefined : sanitize(blank);
  }

  /** The value of the first key with a number, or with a text of digits. */
  findNumber(...keys: readonly string[]): number | undefined {
    for (const key of keys) {
      const text = scalarText(this.values.get(key));
      if (text !== undefined && isNumber(text)) return Number(text);
    }
    return undefined;
  }

  /** The value as text; a list or an object as JSON. */
  findJson(key: string): string | undefined {
    const value = this.values.get(key);
    const isNested = value?.case === 'arrayValue' || value?.case === 'kvlistValue';
    return isNested ? valueJson(value) : this.findText(key);
  }

  /** The value if it is bytes. */
  findBytes(key: string): Uint8Array | undefined {
    const value = this.values.get(key);
    return value?.case === 'bytesValue' ? value.value : undefined;
  }

  /**
   * The values of attributes whose keys have the prefix, each with the rest of its key; a list yields each of
   * its values.
   */
  *listPrefixed(prefix: string): Generator<[name: string, value: string]> {
    for (const [key, value] of this.values) {
      if (!key.startsWith(prefix)) continue;
      const items = value.case === 'arrayValue' ? value.value.values.map((item) => item.value) : [value];
      for (const item of items) {
        const text = scalarText(item);
        if (text !== undefined) yield [sanitize(key.slice(prefix.length)), sanitize(text)];
      }
    }
  }

  /**
   * All attributes except `leftOut` as text, sorted by key: the same attributes in another order have the
   * same text.
   */
  toKey(leftOut: readonly string[] = []): string {
    const entries = [...this.values]
      .filter(([key]) => !leftOut.includes(key))
      .map(([key, value]) => `${JSON.stringify(key)}:${valueJson(value)}`);
    return entries.sort().join();
  }
}

/**
 * The HTTP method of a request, by the semantic conventions; undefined if there is none: then it is not an
 * HTTP request.
 */
export function findMethod(attributes: Attributes): string | undefined {
  const text = attributes.findText('http.request.method', 'http.method') ?? '';
  if (text.trim() === '') return undefined;
  // In older conventions the method is as the client sent it, so it may be invalid. Such a request counts,
  // too.
  const method = methodDecoder.decode(text) ?? OTHER_METHOD;
  if (method !== OTHER_METHOD) return method;
  // Only spans have the original method.
  return methodDecoder.decode(attributes.findText('http.request.method_original')) ?? method;
}

/** The status of a response. A failed request without a status counts as a 500. */
export function findStatusCode(attributes: Attributes, isError: boolean): number | undefined {
  return (
    attributes.findNumber('http.response.status_code', 'http.status_code') ?? (isError ? 500 : undefined)
  );
}

/** The value in Spring's convention if no route matched. */
const NO_ROUTE: ReadonlySet<string> = new Set(['', 'UNKNOWN', 'NOT_FOUND', 'REDIRECTION']);

/** The value of Actix if no route matched: its routes have slashes. */
const isActixDefault = (route: string, scope: string) => route === 'default' && scope.includes('actix-web');

/** Prefixes of routes: of Django's and Kong's regular expressions, and of the patterns of Go's `net/http`. */
const BEFORE_PATH = /^(?:\^|~(?=\/)|[A-Z]+ [^/ ]*(?=\/))/;
/**
 * Scopes of instrumentations whose routes may be names, such as `app_user_show`: of Symfony, Drupal, Slim,
 * Laminas and others.
 */
const NAMES_ROUTES = /\.contrib\.php\.(?!laravel\b)/;

/**
 * The path pattern of a route; null if there is none. Routes of Django, Laravel, ASP.NET and others lack the
 * first slash, and routes of Django may be regular expressions.
 *
 * @param scope the name of the instrumentation scope
 */
export function toPath(route: string, scope: string): string | null {
  if (NO_ROUTE.has(route) || isActixDefault(route, scope)) return null;
  const path = route.replace(BEFORE_PATH, '').replace(/\$$/, '');
  const needsSlash = path !== '*' && !path.startsWith('/') && !NAMES_ROUTES.test(scope);
  return normalizeRoutePattern(needsSlash ? `/${path}` : path);
}

/** Attributes that name the consumer of a request; the first one counts. */
export const CONSUMER_ATTRIBUTES = ['apitally.consumer.identifier', 'user.id', 'enduser.id'] as const;

/** The consumer of a request; null if there is none. */
export function findConsumer(
  attributes: Attributes,
  fieldName: string,
  reader: LenientReader,
): ConsumerRecord | null {
  const identifier = attributes.findText(...CONSUMER_ATTRIBUTES) ?? '';
  if (identifier.trim() === '') return null;
  const name = attributes.findText('apitally.consumer.name');
  const group = attributes.findText('apitally.consumer.group');
  return readConsumer({ identifier, name, group }, fieldName, reader);
}

/**
 * Attributes as the JSON text of an object. Values keep their types, and integers all their digits. If a key
 * repeats, the last attribute counts.
 *
 * @param isLeftOut keys that are stored elsewhere
 */
function attributesJson(
  attributes: readonly KeyValue[],
  isLeftOut?: (key: string) => boolean,
  toJson = valueJson,
): string {
  if (attributes.length === 0) return '{}';
  const members = new Map<string, string>();
  for (const { key, value } of attributes) {
    if (isLeftOut?.(key)) continue;
    const name = truncate(sanitize(key), MAX_ATTRIBUTE_NAME);
    members.set(name, `${JSON.stringify(name)}:${toJson(value?.value)}`);
  }
  return `{${[...members.values()].join()}}`;
}

/**
 * Attributes as JSON text within the limits of a record.
 *
 * @param warn called with each part that was cut or left out
 */
export function limitedAttributesJson(
  attributes: readonly KeyValue[],
  warn: (change: string) => void,
  isLeftOut?: (key: string) => boolean,
): string {
  if (attributes.length > MAX_ATTRIBUTES) warn(`at most ${MAX_ATTRIBUTES} are kept`);
  return attributesJson(attributes.slice(0, MAX_ATTRIBUTES), isLeftOut, (value) => {
    if (value?.case === 'stringValue') {
      const text = truncate(value.value, MAX_VALUE);
      if (text.length < value.value.length) warn(`a value was cut to ${MAX_VALUE} characters`);
      return JSON.stringify(sanitize(text));
    }
    const json = valueJson(value);
    if (json.length <= MAX_VALUE) return json;
    warn(`a value has more than ${MAX_VALUE} characters`);
    return JSON.stringify(VALUE_TOO_LARGE);
  });
}

/** A value as text: scalars as they are, others as JSON. */
export function valueText(value: AnyValue | undefined): string {
  if (value?.value.case === 'bytesValue') return bytesText(value.value.value);
  return sanitize(
    scalarText(value?.value) ?? (value?.value.case === undefined ? '' : valueJson(value.value)),
  );
}

function valueJson(value: AnyValue['value'] | undefined): string {
  switch (value?.case) {
    case 'stringValue':
      return JSON.stringify(sanitize(value.value));
    case 'boolValue':
      return String(value.value);
    case 'intValue':
      return value.value.toString();
    case 'doubleValue':
      return doubleJson(value.value);
    case 'arrayValue':
      return `[${value.value.values.map((item) => valueJson(item.value)).join()}]`;
    case 'kvlistValue':
      return attributesJson(value.value.values);
    case 'bytesValue':
      return JSON.stringify(bytesText(value.value));
    // An index into the string table of a profile; spans have none.
    case 'stringValueStrindex':
    case undefined:
      return 'null';
  }
}

/** The text of bytes that are text, so that secrets in it are found; other bytes in Base64. */
function bytesText(value: Uint8Array): string {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const text = isUtf8(bytes) ? bytes.toString() : '\0';
  return CONTROL_CHARACTER.test(text) ? bytes.toString('base64') : text;
}

function doubleJson(value: number): string {
  // JSON has no NaN and no infinities; protobuf's JSON mapping writes them as strings.
  if (!Number.isFinite(value)) return JSON.stringify(String(value));
  // The engine rejects JSON with the digits of an integer beyond 64 bits.
  return Math.abs(value) < 2 ** 63 ? JSON.stringify(value) : value.toExponential();
}

function scalarText(value: AnyValue['value'] | undefined): string | undefined {
  if (value?.case === 'stringValue') return value.value;
  const isScalar = value?.case === 'boolValue' || value?.case === 'intValue' || value?.case === 'doubleValue';
  return isScalar ? String(value.value) : undefined;
}
