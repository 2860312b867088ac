import type { Header } from '../../../records/capture.js';
import { type LogValues, type ValueNames, isBlank } from './access-log.js';
import { type JsonObject, objectDecoder, textDecoder } from '../../../records/decoding/decoders.js';

/**
 * Names of values in a line, the best name first. The name of a nested member is a path: `request.headers`.
 */
type Names = string | readonly string[];

/** The place of the request's or response's headers in a log. */
interface HeaderSource {
  /** Matches the names of headers, with a group for the header's own name: `request_User-Agent`. */
  readonly pattern?: RegExp;
  /** Whether underscores in these names stand for hyphens, as in variables of nginx. */
  readonly hasUnderscores?: boolean;
  /** An object of headers: a text or a list of texts by name. */
  readonly object?: string;
  /** Headers under other names, for headers that are not found otherwise. */
  readonly named?: Readonly<Record<string, Names>>;
}

type ValueMember = Exclude<keyof LogValues, 'request_headers' | 'response_headers'>;

/** The meaning of the values in a format's lines: for each member of a request, the names of its value. */
export type FieldMap = Readonly<Partial<Record<ValueMember, Names>>> & {
  readonly request_headers?: HeaderSource;
  readonly response_headers?: HeaderSource;
};

/** Above the limits of servers. */
const MAX_HEADERS = 200;

/** Reads lines, as objects, by a field map. */
export class FieldReader {
  private readonly fields: readonly (readonly [member: ValueMember, paths: readonly Path[]])[];
  private readonly request: HeaderReader;
  private readonly response: HeaderReader;
  /** The names in the log of the values that a request needs. */
  readonly names: ValueNames;

  constructor(map: FieldMap) {
    const { request_headers, response_headers, ...members } = map;
    this.fields = Object.entries(members).map(([member, names]) => [member as ValueMember, toPaths(names)]);
    this.request = new HeaderReader(request_headers ?? {});
    this.response = new HeaderReader(response_headers ?? {});
    this.names = {
      timestamp: enumerate([...toList(map.timestamp).slice(0, 3), ...dateAndTime(map)]),
      method: enumerate([...toList(map.method).slice(0, 1), ...toList(map.request).slice(0, 1)]),
      url: enumerate([...toList(map.url ?? map.path).slice(0, 1), ...toList(map.request).slice(0, 1)]),
      status_code: enumerate(toList(map.status_code).slice(0, 1)),
    };
  }

  read(line: JsonObject): LogValues {
    const values: LogValues = {};
    for (const [member, paths] of this.fields) {
      const value = findValue(line, paths);
      if (value !== undefined) values[member] = value;
    }
    values.request_headers = this.request.read(line);
    values.response_headers = this.response.read(line);
    return values;
  }
}

/** A name, and its parts if it is a path. */
interface Path {
  readonly name: string;
  readonly parts: readonly string[];
}

const toList = (names: Names | undefined): readonly string[] =>
  names === undefined ? [] : typeof names === 'string' ? [names] : names;

function toPaths(names: Names): readonly Path[] {
  return toList(names).map((name) => ({ name, parts: name.includes('.') ? name.split('.') : [] }));
}

function dateAndTime({ date, time }: FieldMap): string[] {
  const [day, clock] = [toList(date)[0], toList(time)[0]];
  return day === undefined || clock === undefined ? [] : [`${day} and ${clock}`];
}

function enumerate(names: readonly string[]): string {
  const unique = [...new Set(names)];
  return unique.length < 2 ? (unique[0] ?? '') : `${unique.slice(0, -1).join(', ')} or ${unique.at(-1)}`;
}

/** The first of these values that is not blank. */
function findValue(line: JsonObject, paths: readonly Path[]): unknown {
  for (const path of paths) {
    const value = valueAt(line, path);
    if (!isBlank(value)) return value;
  }
  return undefined;
}

/** A member whose name contains dots comes before a nested member. */
function valueAt(line: JsonObject, { name, parts }: Path): unknown {
  if (Object.hasOwn(line, name)) return line[name];
  let value: unknown = parts.length === 0 ? undefined : line;
  for (const part of parts) {
    const object = objectDecoder.decode(value);
    value = object && Object.hasOwn(object, part) ? object[part] : undefined;
  }
  return value;
}

class HeaderReader {
  private readonly object: readonly Path[];
  private readonly named: readonly (readonly [name: string, paths: readonly Path[]])[];

  constructor(private readonly source: HeaderSource) {
    this.object = toPaths(source.object ?? []);
    this.named = Object.entries(source.named ?? {}).map(([name, names]) => [name, toPaths(names)]);
  }

  read(line: JsonObject): Header[] {
    const headers: Header[] = [];
    const { pattern, hasUnderscores } = this.source;
    if (pattern !== undefined)
      for (const [member, value] of Object.entries(line)) {
        const name = pattern.exec(member)?.[1];
        if (name !== undefined) add(headers, hasUnderscores ? name.replaceAll('_', '-') : name, value);
      }
    for (const [name, value] of Object.entries(objectDecoder.decode(findValue(line, this.object)) ?? {}))
      for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) add(headers, name, item);
    for (const [name, paths] of this.named)
      if (!headers.some(([given]) => given === name)) add(headers, name, findValue(line, paths));
    return headers;
  }
}

/** Adds a header that has a value. */
function add(headers: Header[], name: string, value: unknown) {
  const text = typeof value === 'number' ? String(value) : textDecoder.decode(value);
  if (isBlank(text) || text === undefined || headers.length === MAX_HEADERS) return;
  headers.push([textDecoder.decode(name.toLowerCase()) ?? '', text]);
}

/** Members with the same meaning: a map that names one of them replaces all of them. */
const ALTERNATIVES: readonly (readonly ValueMember[])[] = [
  ['timestamp', 'date', 'time'],
  ['request', 'url', 'path', 'query'],
  ['client_ip', 'client_ip_port'],
  ['response_time', 'response_time_s', 'response_time_ms', 'response_time_us', 'response_time_ns'],
];
const OTHER_MEMBERS: readonly ValueMember[] = [
  'method',
  'host',
  'port',
  'scheme',
  'status_code',
  'forwarded_for',
  'user',
  'consumer',
  'route',
  'request_size_bytes',
  'response_size_bytes',
  'trace_id',
];
/** Members of a request that a map can name. */
const MAPPED_MEMBERS: readonly string[] = [
  ...ALTERNATIVES.flat(),
  ...OTHER_MEMBERS,
  'user_agent',
  'referer',
  'header.NAME',
];
const HEADER_SOURCES: Readonly<Record<string, string>> = { user_agent: 'user-agent', referer: 'referer' };
const HEADER = /^header\.([\w-]{1,128})$/;

/**
 * Parses a map such as `timestamp=ts,url=req.url`: members of a request, and the names of their values in the
 * log.
 *
 * @throws RangeError if the text is not a map
 */
export function parseFieldMap(text: string): FieldMap {
  const members: Record<string, string> = {};
  const named: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const [, member = '', name = ''] = /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(pair) ?? [];
    const header = HEADER_SOURCES[member] ?? HEADER.exec(member)?.[1];
    if (name === '') throw new RangeError('must have the form member=name,member=name');
    if (header !== undefined) named[header.toLowerCase()] = name;
    else if (MAPPED_MEMBERS.includes(member)) members[member] = name;
    else throw new RangeError(`has no member ${member}; members are ${MAPPED_MEMBERS.join(', ')}`);
  }
  return { ...members, ...(Object.keys(named).length > 0 && { request_headers: { named } }) };
}

/** The field map of a format; names of the second map replace the format's own. */
export function mergeFields(fields: FieldMap, map: FieldMap): FieldMap {
  const replaced = ALTERNATIVES.filter((members) =>
    members.some((member) => map[member] !== undefined),
  ).flat();
  const kept = Object.fromEntries(
    Object.entries(fields).filter(([member]) => !replaced.some((item) => item === member)),
  ) as FieldMap;
  const named = { ...fields.request_headers?.named, ...map.request_headers?.named };
  return { ...kept, ...map, request_headers: { ...fields.request_headers, named } };
}
