import { unescapeText } from './access-log.js';
import { type Template, checkTemplate, escape } from './template.js';

/** A syntax for the form of a line. */
interface Dialect {
  /** Matches the placeholder of a value. */
  readonly value: RegExp;
  /** The name of nginx's variable with the same value. */
  readonly toName: (match: RegExpExecArray) => string;
}

/** The name of values that are not used. */
const IGNORED = '_';
/** The name of a time in the form that the format string gives to it. */
const TIME = 'time_custom';
/** Conversions of `strftime`, Apache's words for times since the epoch, and Envoy's digits of a fraction. */
const TIME_SHAPES: readonly (readonly [conversion: RegExp, shape: string])[] = [
  [/^%[FD]/, String.raw`\d{2,4}[-/]\d\d[-/]\d\d`],
  [/^%T/, String.raw`\d\d:\d\d:\d\d`],
  [/^%Y/, String.raw`\d{4}`],
  [/^%[mdHMSIyC]/, String.raw`\d\d`],
  [/^%e/, String.raw`[ \d]\d`],
  [/^%[bha]/, '[A-Z][a-z]{2}'],
  [/^%z/, String.raw`[+-]\d\d:?\d\d`],
  [/^%Z/, '[A-Z]{1,5}'],
  [/^%\d?f/, String.raw`\d{1,9}`],
  [/^%\d?s/, String.raw`\d{1,19}`],
  [/^(?:begin:|end:)/, ''],
  [/^[mu]?sec(?:_frac)?/, String.raw`\d{1,19}`],
  [/^%%/, '%'],
];

const toHeader = (prefix: string, name = '') => prefix + name.toLowerCase().replaceAll('-', '_');

const APACHE_VARIABLES: Readonly<Record<string, string>> = {
  h: 'remote_host',
  a: 'remote_addr',
  u: 'remote_user',
  r: 'request',
  m: 'request_method',
  U: 'uri',
  q: 'args',
  s: 'status',
  b: 'body_bytes_sent',
  B: 'body_bytes_sent',
  O: 'bytes_sent',
  I: 'request_length',
  D: 'request_time_us',
  T: 'request_time',
  v: 'server_name',
  V: 'host',
  p: 'server_port',
};
const APACHE_UNITS: Readonly<Record<string, string>> = { ms: 'request_time_ms', us: 'request_time_us' };
const GUNICORN_VARIABLES: Readonly<Record<string, string>> = {
  ...APACHE_VARIABLES,
  h: 'remote_addr',
  f: 'http_referer',
  a: 'http_user_agent',
  L: 'request_time',
  M: 'request_time_ms',
};
const ENVOY_VARIABLES: Readonly<Record<string, string>> = {
  'REQ(:METHOD)': 'request_method',
  'REQ(:PATH)': 'request_uri',
  'REQ(X-ENVOY-ORIGINAL-PATH?:PATH)': 'request_uri',
  'REQ(:AUTHORITY)': 'http_host',
  'REQ(:SCHEME)': 'scheme',
  RESPONSE_CODE: 'status',
  BYTES_RECEIVED: 'content_length',
  BYTES_SENT: 'bytes_sent',
  DURATION: 'request_time_ms',
  DOWNSTREAM_REMOTE_ADDRESS: 'remote_addr',
  DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT: 'remote_addr',
  DOWNSTREAM_DIRECT_REMOTE_ADDRESS: 'remote_addr',
  DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT: 'remote_addr',
  REQUESTED_SERVER_NAME: 'ssl_server_name',
  DOWNSTREAM_TLS_VERSION: 'ssl_protocol',
  TRACE_ID: 'trace_id',
};

const NGINX: Dialect = {
  value: /\$(?:\{(\w+)\}|(\w+))/g,
  toName: ([, braced, plain]) => braced ?? plain ?? '',
};

const APACHE: Dialect = {
  // Consecutive directives of a time, for example for its fraction and its offset, are one value.
  value: /((?:%\{[^}]*\}t[ .,:]?)*%\{[^}]*\}t)|(%U%q)|%(?:!?[\d,]+)?[<>]?(?:\{([^}]*)\})?(\^\w\w|[A-Za-z])/g,
  toName: ([, times, target, argument, directive = '']) => {
    if (times !== undefined) return TIME;
    if (target !== undefined) return 'request_uri';
    switch (directive) {
      case 'i':
        return toHeader('http_', argument);
      case 'o':
        return toHeader('sent_http_', argument);
      case 'e':
      case 'x':
        return toHeader('', argument);
      case 'T':
        return APACHE_UNITS[argument ?? ''] ?? 'request_time';
      case 'a':
        return argument === 'c' ? 'realip_remote_addr' : 'remote_addr';
      default:
        return APACHE_VARIABLES[directive] ?? IGNORED;
    }
  },
};

const GUNICORN: Dialect = {
  value: /%\((?:\{([^}]+)\}([ioe])|(\w))\)s/g,
  toName: ([, name, kind, variable = '']) => {
    if (name === undefined) return GUNICORN_VARIABLES[variable] ?? IGNORED;
    return toHeader(kind === 'i' ? 'http_' : kind === 'o' ? 'sent_http_' : '', name);
  },
};

const ENVOY: Dialect = {
  value: /%([A-Z_\d]+)(\([^)]*\))?(?::\d+)?%/g,
  toName: ([, operator = '', given = '']) => {
    const argument = given.toUpperCase();
    const variable = ENVOY_VARIABLES[operator + argument] ?? ENVOY_VARIABLES[operator];
    if (variable !== undefined) return variable;
    if (operator === 'START_TIME') return given === '' ? 'time_iso8601' : TIME;
    const [header = ''] = given.slice(1, -1).split('?');
    if (operator === 'REQ') return toHeader('http_', header.replace(/^:/, ''));
    return operator === 'RESP' ? toHeader('sent_http_', header) : IGNORED;
  },
};

/** `log_format name escape=json '…' '…';` of nginx, and `LogFormat "…" name` of Apache. */
const DIRECTIVE = /^\s*(log_format|LogFormat)\s+([^]*?);?\s*$/;
const NGINX_OPTIONS = /^\S+\s+(?:escape=\w+\s+)?/;
const QUOTED = /"((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)'/g;
/** Longer than servers accept in a line of their configuration. */
const MAX_FORMAT = 16_384;

/** Whether a text is a format string: it has a placeholder. */
export function isFormatString(text: string): boolean {
  return DIRECTIVE.test(text) || /[$%]\S/.test(text);
}

/**
 * The form of a server's lines, from the text of its configuration: nginx's `log_format`, Apache's
 * `LogFormat`, the access log format of gunicorn or of Envoy, as a directive or as the string alone.
 *
 * @throws RangeError if lines of that form have no request
 */
export function parseFormatString(text: string): Template {
  if (text.length > MAX_FORMAT) throw new RangeError(`must have at most ${MAX_FORMAT} characters`);
  const [, directive, given = text] = DIRECTIVE.exec(text) ?? [];
  const isNginx = directive === 'log_format';
  const format = unquote(isNginx ? given.replace(NGINX_OPTIONS, '') : given, directive !== undefined);
  const template = parseTemplate(format, isNginx ? NGINX : findDialect(format));
  const names = new Set(template.fields.map(({ name }) => name));
  const has = (...some: string[]) => some.some((name) => names.has(name));
  if (!has('status')) throw new RangeError('has no status, as $status or %>s');
  if (!has('request') && !(has('request_method') && has('request_uri', 'uri')))
    throw new RangeError('has no request, as $request, or $request_method and $request_uri');
  return checkTemplate(template);
}

/** The form of lines, in the syntax of a server's configuration. */
export function parseTemplate(format: string, dialect: Dialect = findDialect(format)): Template {
  const fields: { name: string; before: string; shape: string | undefined }[] = [];
  let at = 0;
  let before = '';
  for (const match of format.matchAll(dialect.value)) {
    before += toText(format.slice(at, match.index), dialect);
    at = match.index + match[0].length;
    // Apache writes brackets around a time without its own form.
    const isBracketed = /^%(?:t|\(t\)s)$/.test(match[0]);
    const name = isBracketed ? 'time_local' : dialect.toName(match);
    const shape = name === TIME ? findTimeShape(match[0]) : undefined;
    fields.push({ name, before: isBracketed ? `${before}[` : before, shape });
    before = isBracketed ? ']' : '';
  }
  return { fields, end: before + toText(format.slice(at), dialect), hasEscapes: dialect !== ENVOY };
}

/**
 * The shape of a time, from the directives that write it: `{%Y-%m-%d}t %{%T}t`, or `%START_TIME(%s.%3f)%`.
 */
function findTimeShape(directives: string): string {
  const format = directives
    .replace(/%\{([^}]*)\}t/g, '$1')
    .replace(/^%START_TIME\(([^)]*)\)(?::\d+)?%$/, '$1');
  let shape = '';
  for (let at = 0; at < format.length;) {
    const rest = format.slice(at);
    const [pattern, conversion] = TIME_SHAPES.find(([directive]) => directive.test(rest)) ?? [
      /^[^]/,
      escape(format.charAt(at)),
    ];
    shape += conversion;
    at += pattern.exec(rest)?.[0].length ?? 1;
  }
  return shape;
}

function toText(literal: string, dialect: Dialect): string {
  return dialect === APACHE ? literal.replaceAll('%%', '%') : literal;
}

function findDialect(format: string): Dialect {
  if (/%\([\w{]/.test(format)) return GUNICORN;
  if (/%[A-Z_]{4,}[(%:]/.test(format)) return ENVOY;
  return /\$\{?\w/.test(format) ? NGINX : APACHE;
}

/**
 * The text of a configuration's strings; nginx joins several. The text itself if it is not a string of a
 * configuration.
 */
function unquote(text: string, isDirective: boolean): string {
  const strings = [...text.matchAll(QUOTED)];
  const [first] = strings;
  const begins = first?.index === text.search(/\S/);
  const isWhole = strings.length === 1 && first?.[0].length === text.trim().length;
  if (first === undefined || !begins || !(isDirective || isWhole || text.trimStart().startsWith("'")))
    return unescapeText(text);
  return strings.map(([, double, single]) => unescapeText(double ?? single ?? '')).join('');
}
