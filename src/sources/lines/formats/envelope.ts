import { isBlank } from './access-log.js';
import { type JsonObject, objectDecoder } from '../../../records/decoding/decoders.js';

/** The text that a logger, a container or a shipper wrote around a line. */
export interface Envelope {
  readonly inside: string | JsonObject;
  /** The time at which the line was logged, in its written form. */
  readonly time?: unknown;
  /** The rest of the line follows in another envelope. */
  readonly isPartial?: boolean;
  /** Whether it is an envelope even without a request in it. */
  readonly isKnown?: boolean;
}

const ISO = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)`;
const ISO_DATE = /^\d{4}-\d\d-\d\d[T ]/;
const CLOCK_DATE = String.raw`[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?`;
const LEVEL = String.raw`\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL)\]?`;

/** `nginx:` or `nginx[12]:`, with the name of the host before it. */
const TAG = /^(?:[\w.:%@-]{1,255} )??[^\s:[\]"{}]{1,64}(?:\[[^\]\s]{1,64}\])?: {1,8}(?=\S)/;
/** The host of a message without a tag. If a hyphen follows, it is the client of an access log. */
const HOST = /^[\w.:%@-]{1,255} (?!- |\[)/;
/** RFC 5424. Heroku leaves out the hyphen of its structured data. */
const RFC_5424 = new RegExp(
  String.raw`^1 (${ISO}|-) \S{1,255} \S{1,48} \S{1,128} \S{1,32} (?:(?:\[[^\]]{0,4096}\]){1,16} ?|- ?|)\uFEFF?`,
);
const RFC_3164 = new RegExp(String.raw`^(${CLOCK_DATE}|${ISO}) `);
/** RFC 6587: the length of a message precedes it. */
const PRIORITY = /^(?:\d{1,6} )?<\d{1,3}>/;
/** The container runtime interface of Kubernetes. */
const CRI = new RegExp(String.raw`^(${ISO}) std(?:out|err) ([FP])(?::\S{0,32})? ?`);
const ISO_PREFIX = new RegExp(String.raw`^(${ISO}) (?! )`);
/** A Classic Load Balancer of AWS begins its own lines with such a time. */
const LOAD_BALANCER =
  /^\S{1,256} \S{1,64}:\d{1,5} (?:-|\S{1,64}:\d{1,5}) -?[\d.]{1,20} -?[\d.]{1,20} -?[\d.]{1,20} /;
const COMPOSE = /^[A-Za-z\d][\w.-]{0,127} +\| /;
const KUBECTL = /^\[pod\/[\w./-]{1,255}\] /;
/** The prefix of loggers of Python and others: a time, the level, and the name of the logger in any order. */
const LOGGER = new RegExp(
  String.raw`^(?:\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?)\]? (?:- )?(?:[\w.]{1,64} - )?)?${LEVEL}(?:: {0,12}| ?- ?| {1,12})(?:(?:\[[\w.]{1,64}\]|[A-Za-z_][\w.]{0,63}:) ?)?(?:- )?`,
);
// oxlint-disable-next-line no-control-regex -- colours of a terminal
const COLOURS = /\x1b\[[\d;]{0,16}m/g;
const LETTER = /[A-Za-z]/;

/**
 * The prefix of a line: the header of syslog (RFC 3164, RFC 5424), of Kubernetes, of `docker compose logs`,
 * `docker logs -t` or `kubectl logs`, or of a logger; null if there is none.
 */
export function peelPrefix(line: string): Envelope | null {
  const first = line.charAt(0);
  if (first === '{') return null;
  if (line.includes('\x1b[')) {
    const inside = line.replace(COLOURS, '');
    if (inside !== line) return { inside };
  }
  // Nearly every line begins with an address.
  if (first >= '0' && first <= '9' && line[4] !== '-') return PRIORITY.test(line) ? peelPriority(line) : null;
  if (first === '<') return peelPriority(line);
  if (ISO_DATE.test(line)) return peelIso(line) ?? peel(LOGGER, line);
  if (first === '[') return peel(KUBECTL, line) ?? peel(LOGGER, line);
  return LETTER.test(first) ? (peelSyslog(line) ?? peel(COMPOSE, line) ?? peel(LOGGER, line)) : null;
}

function peel(pattern: RegExp, line: string): Envelope | null {
  const [match, time] = pattern.exec(line) ?? [];
  return match === undefined ? null : { inside: line.slice(match.length), time };
}

function peelPriority(line: string): Envelope | null {
  const [match] = PRIORITY.exec(line) ?? [];
  if (match === undefined) return null;
  const message = line.slice(match.length);
  return peel(RFC_5424, message) ?? peelSyslog(message) ?? { inside: message };
}

/** RFC 3164: a time, an optional host, and an optional tag. */
function peelSyslog(line: string): Envelope | null {
  const [match, time] = RFC_3164.exec(line) ?? [];
  if (match === undefined) return null;
  const message = line.slice(match.length);
  const [head = ''] = TAG.exec(message) ?? HOST.exec(message) ?? [];
  return { inside: message.slice(head.length), time };
}

function peelIso(line: string): Envelope | null {
  const [cri, at, kind] = CRI.exec(line) ?? [];
  if (cri !== undefined) return { inside: line.slice(cri.length), time: at, isPartial: kind === 'P' };
  const [match, time] = ISO_PREFIX.exec(line) ?? [];
  if (match === undefined) return null;
  const message = line.slice(match.length);
  if (LOAD_BALANCER.test(message)) return null;
  const [tag = ''] = TAG.exec(message) ?? [];
  return { inside: message.slice(tag.length), time };
}

/**
 * Members with a line as text, of Docker, Fluent Bit, journald, Vector, Filebeat, Google Cloud and others.
 */
const TEXTS = ['log', 'MESSAGE', 'message', 'textPayload', 'msg', 'line', 'event.original', '@message'];
/** Members with a line of JSON that the shipper parsed. */
const OBJECTS = ['json', 'jsonPayload', 'log_processed', 'message', 'log', 'parsed'];
const TIMES = ['time', '@timestamp', 'timestamp', 'date', '__REALTIME_TIMESTAMP', '_time'];
/** Docker ends a part of a long line without a line feed. */
const DOCKER_PART = 16_384;

/** The envelope of an object of JSON; null if it contains no line. */
export function peelObject(object: JsonObject): Envelope | null {
  const member = (name: string) => (Object.hasOwn(object, name) ? object[name] : undefined);
  const time = TIMES.map(member).find((value) => !isBlank(value));
  for (const name of TEXTS) {
    const text = readText(member(name));
    if (text === undefined || text.trim() === '') continue;
    const isPartial = name === 'log' && text.length >= DOCKER_PART && !text.endsWith('\n');
    return {
      inside: text.replace(/\r?\n$/, ''),
      time,
      isPartial,
      isKnown: name === 'log' || name === 'MESSAGE',
    };
  }
  const inside = OBJECTS.map((name) => objectDecoder.decode(member(name))).find(
    (value) => value !== undefined,
  );
  return inside === undefined ? null : { inside, time };
}

/** A text; journald writes a text that is not UTF-8 as its bytes. */
function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const isBytes =
    Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256);
  return isBytes ? Buffer.from(value as number[]).toString() : undefined;
}
