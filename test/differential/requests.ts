import type { Random } from './random.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A consumer as an application names it; name and group may be left unsaid. */
export interface Consumer {
  identifier: string;
  name?: string;
  group?: string;
}

/** A request as Get Request Details must show it, were it logged; spans' times as digits. */
export interface Shown {
  timestamp: string;
  /** Null: the product makes one. */
  request_uuid: string | null;
  env: string;
  consumer: string | null;
  method: string;
  path: string | null;
  url: string;
  status_code: number;
  request_size_bytes: number | null;
  response_size_bytes: number | null;
  response_time_ms: number;
  client_ip: string | null;
  client_country_iso_code: string | null;
  request_headers: [string, string][];
  response_headers: [string, string][];
  request_body_json: string | null;
  response_body_json: string | null;
  trace_id: string | null;
  exception: { type: string; message: string; stacktrace: string; tracker_event_id: string | null } | null;
  logs: {
    timestamp: string;
    message: string;
    level: string;
    logger: string | null;
    file: string | null;
    line: number | null;
  }[];
  spans: {
    span_id: string;
    parent_span_id: string | null;
    name: string;
    kind: string;
    start_time_ns: string;
    end_time_ns: string;
    duration_ns: string;
    status: string;
    attributes: object;
  }[];
}

/** A request that an application had. */
export interface Made {
  shown: Shown;
  consumer: Consumer | null;
  /** A static asset or a health check: counted, never logged. */
  isExcluded: boolean;
  /** The path was made from the URL, and the status says that there may be no such route. */
  isProbe: boolean;
}

/** A line of a file to import; null: nothing that is a request. */
export interface Line {
  text: string;
  made: Made | null;
}

/** An entry of `requests` in a `sync`; null: nothing that can be counted. */
export interface Entry {
  wire: object;
  count: {
    consumer: Consumer | null;
    method: string;
    path: string | null;
    requests: number;
    bytes_received: number;
    bytes_sent: number;
  } | null;
}

const ENVS = ['prod', 'staging', 'dev_2'];
const METHODS = ['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
const STATUSES = [200, 200, 200, 201, 204, 302, 400, 401, 422, 500, 503, 599, 600, 999, 100];
/** Routes with their parameters in braces and as Express, Flask and Rails spell them. */
const ROUTES = [
  ['/users', '/users'],
  ['/users/{id}', '/users/:id'],
  ['/users/{id}/orders/{order_id}', '/users/<int:id>/orders/<order_id>'],
  ['/v1/things/{thing}', '/v1/things/:thing(\\d+)'],
  ['/files/{name}', '/files/[name]'],
  ['/search', '/search'],
  ['/50%_off/*', '/50%_off/*'],
  ['/größe/{id}', '/größe/{id}'],
] as const;
const HEALTH_PATH = '/healthz';
const ASSET_PATH = '/static/favicon.ico';
const PROBE_AGENT = 'kube-probe/1.31';
/** Client addresses with their countries: documentation and private networks have none. */
const ADDRESSES = [
  [null, null],
  ['10.0.0.7', null],
  ['203.0.113.9', null],
  ['2001:db8::1', null],
  ['8.8.8.8', 'US'],
] as const;

/** Draws requests and writes them as each way in takes them. */
export class RequestMaker {
  constructor(
    readonly random: Random,
    private readonly now: number,
  ) {}

  env(): string {
    return this.random.pick(ENVS);
  }

  /** Whole milliseconds; `oldestDays` ago at the earliest, and not near an edge of what is kept. */
  time(oldestDays: number): number {
    const { random, now } = this;
    const drawn = random.share();
    if (drawn < 0.02) return now + random.integer(1, 20 * HOUR);
    if (drawn < 0.1 && oldestDays > 16) return now - random.integer(16 * DAY, oldestDays * DAY);
    const at = now - random.integer(1, drawn < 0.4 ? 14 * DAY : 2 * DAY);
    // Some share their time with others.
    return random.chance(0.2) ? Math.floor(at / HOUR) * HOUR : at;
  }

  /** Names and groups change from round to round, and not within one. */
  consumer(round: number): Consumer | null {
    const { random } = this;
    if (random.chance(0.3)) return null;
    const number = random.integer(1, 40);
    const identifier = number < 5 ? `auth0|5f${number}` : number < 8 ? `größe ${number}` : `user-${number}`;
    return {
      identifier,
      ...(random.chance(0.2) && { name: `${identifier} of ${round}` }),
      ...(random.chance(0.2) && { group: `group ${(number + round) % 4}` }),
    };
  }

  /** A request as a client library or an export of the API knows it. */
  whole(round: number, oldestDays: number): Made {
    const { random } = this;
    const at = this.time(oldestDays);
    const consumer = this.consumer(round);
    const [path] = random.pick(ROUTES);
    const excluded = random.chance(0.05);
    const agent = excluded && random.chance(0.4) ? PROBE_AGENT : 'curl/8';
    const shownPath =
      excluded && agent !== PROBE_AGENT
        ? random.pick([HEALTH_PATH, ASSET_PATH])
        : random.chance(0.1)
          ? null
          : path;
    const [client_ip, client_country_iso_code] = random.pick(ADDRESSES);
    return {
      consumer,
      isExcluded: excluded,
      isProbe: false,
      shown: {
        timestamp: new Date(at).toISOString(),
        request_uuid: random.uuid(),
        env: this.env(),
        consumer: consumer?.identifier ?? null,
        method: random.pick(METHODS),
        path: shownPath,
        url: `https://api.example.com${(shownPath ?? '/nowhere').replaceAll(/\{\w+\}/g, () => random.hex(4))}?q=${random.hex(3)}`,
        status_code: random.pick(STATUSES),
        request_size_bytes: this.size(),
        response_size_bytes: this.size(),
        response_time_ms: random.integer(0, 70_000),
        client_ip,
        client_country_iso_code,
        request_headers: [
          ['user-agent', agent],
          ...(client_ip === null ? [] : ([['x-forwarded-for', client_ip]] as [string, string][])),
        ],
        response_headers: random.chance(0.5) ? [['x-text', random.text()]] : [],
        request_body_json: random.chance(0.2) ? `{"a":${random.integer(0, 9)}}` : null,
        response_body_json: random.chance(0.2) ? JSON.stringify({ text: random.text() }) : null,
        trace_id: random.chance(0.3) ? `f${random.hex(31)}` : null,
        exception: random.chance(0.1) ? this.exception() : null,
        logs: Array.from({ length: random.chance(0.2) ? random.integer(1, 3) : 0 }, () => this.log(at)),
        spans: Array.from({ length: random.chance(0.2) ? random.integer(1, 3) : 0 }, () => this.span()),
      },
    };
  }

  /** The request as a line of NDJSON. */
  ndjson({ shown, consumer, isExcluded, isProbe }: Made): Line {
    const { random } = this;
    const { request_uuid, exception, spans } = shown;
    const line: Record<string, unknown> = {
      ...shown,
      // Without one, it is that of the address.
      client_country_iso_code: undefined,
      request_uuid: null,
      ...(request_uuid !== null && {
        request_uuid: random.chance(0.2) ? request_uuid.toUpperCase() : request_uuid,
      }),
      consumer: random.chance(0.5) && !consumer?.name && !consumer?.group ? shown.consumer : consumer,
      exception,
      spans: 'SPANS',
      unknown_member: random.text(),
    };
    const odd: Made = { shown: { ...shown }, consumer, isExcluded, isProbe };
    if (random.chance(0.03)) {
      line.request_size_bytes = random.pick([-1, 2 ** 53, 'NaN', 1.5]);
      odd.shown.request_size_bytes = null;
    }
    if (random.chance(0.03)) {
      line.consumer = random.pick(['', true, {}, ['a']]);
      odd.consumer = odd.shown.consumer = null;
    }
    if (random.chance(0.03)) {
      line.exception = { message: 'without a type' };
      odd.shown.exception = null;
    }
    if (shown.trace_id !== null && random.chance(0.1)) line.trace_id = shown.trace_id.toUpperCase();
    if (isProbe) delete line.path;
    const spanTexts = spans.map(
      ({ start_time_ns, end_time_ns, ...span }) =>
        `${JSON.stringify({ ...span, duration_ns: undefined }).slice(0, -1)},"start_time_ns":${start_time_ns},"end_time_ns":${end_time_ns}}`,
    );
    const text = JSON.stringify(line).replace('"SPANS"', () => `[${spanTexts.join(',')}]`);
    return { text, made: odd };
  }

  /**
   * The request as a line of a log file of a client library: in camel case, in snake case, or as Java writes
   * it.
   */
  item(made: Made): { wire: object; made: Made } {
    const { random } = this;
    const { shown, consumer } = made;
    const odd: Made = { ...made, shown: { ...shown } };
    const isSnake = random.chance(0.3);
    const name = (snake: string) =>
      isSnake ? snake : snake.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const body = (text: string | null) => (text === null ? null : Buffer.from(text).toString('base64'));
    const route = ROUTES.find(([path]) => path === shown.path);
    const request: Record<string, unknown> = {
      timestamp: Date.parse(shown.timestamp) / 1000,
      method: random.chance(0.1) ? shown.method.toLowerCase() : shown.method,
      path: shown.path === null ? random.pick([null, '']) : (route?.[1] ?? shown.path),
      url: shown.url,
      headers: shown.request_headers,
      size: shown.request_size_bytes,
      consumer: consumer?.name || consumer?.group ? consumer : shown.consumer,
      body: body(shown.request_body_json),
    };
    const response: Record<string, unknown> = {
      [name('status_code')]: shown.status_code,
      [name('response_time')]: shown.response_time_ms / 1000,
      headers: shown.response_headers,
      size: shown.response_size_bytes,
      body: body(shown.response_body_json),
    };
    const item: Record<string, unknown> = {
      uuid: shown.request_uuid,
      request,
      response,
      [name('trace_id')]: shown.trace_id,
      logs: shown.logs.map(({ timestamp, ...log }) => ({
        ...log,
        timestamp: Date.parse(timestamp) / 1000 + Number(timestamp.slice(23, 26)) / 1e6,
      })),
      spans: shown.spans.map((span) => ({
        [name('span_id')]: span.span_id,
        [name('parent_span_id')]: span.parent_span_id,
        name: span.name,
        kind: span.kind.toLowerCase(),
        [name('start_time')]: span.start_time_ns,
        [name('end_time')]: span.end_time_ns,
        status: span.status,
        attributes: span.attributes,
      })),
    };
    if (shown.exception) {
      const { type, message, stacktrace, tracker_event_id } = shown.exception;
      const member = random.pick(['stacktrace', 'stackTrace', 'stack_trace', 'traceback']);
      item.exception = { type, message, [member]: stacktrace, [name('sentry_event_id')]: tracker_event_id };
    }
    if (random.chance(0.03)) {
      request.size = random.pick([-1, 2 ** 53, 'NaN', {}]);
      odd.shown.request_size_bytes = null;
    }
    if (random.chance(0.03)) {
      request.consumer = random.pick(['', true, {}, ['a']]);
      odd.consumer = odd.shown.consumer = null;
    }
    if (random.chance(0.03)) {
      item.exception = { message: 'without a type' };
      odd.shown.exception = null;
    }
    return { wire: item, made: odd };
  }

  /**
   * A line of an access log in the combined format, imported with `--base-url https://shop.example.com` and
   * `--consumer-from user`.
   *
   * @param refused paths of requests that the application refuses, which are endpoints already or never
   * become any
   */
  combined(env: string, oldestDays: number, refused: readonly string[]): Line {
    const { random } = this;
    const seconds = Math.floor(this.time(oldestDays) / 1000);
    const isRefused = random.chance(0.1);
    const excluded = !isRefused && random.chance(0.05);
    const agent = excluded && random.chance(0.4) ? PROBE_AGENT : 'Mozilla/5.0 "x\\y';
    const isExcludedPath = excluded && agent !== PROBE_AGENT;
    const path = isRefused
      ? random.pick(refused)
      : isExcludedPath
        ? random.pick([HEALTH_PATH, ASSET_PATH])
        : random.pick(['/', '/shop/{id}', '/shop/{id}/parts/{id}', '/a.b/c']);
    const target = path.replaceAll('{id}', () =>
      random.pick([() => String(random.integer(1, 99)), () => random.uuid(), () => random.hex(16)])(),
    );
    const query = random.chance(0.3) ? `?q=${random.hex(4)}` : '';
    const [host, country] = random.pick([['10.0.0.7', null] as const, ...ADDRESSES.slice(1)]);
    const user = random.chance(0.4) ? `user-${random.integer(8, 40)}` : null;
    const size = random.chance(0.1) ? null : random.integer(0, 5_000);
    const ms = random.chance(0.5) ? random.integer(0, 9_999) : null;
    const referer = random.chance(0.3) ? 'https://example.com/?"' : null;
    const method = random.pick(METHODS);
    const status = isRefused ? random.pick([404, 405]) : random.pick(STATUSES);
    const quoted = (text: string | null) =>
      text === null ? '"-"' : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
    const fields = [
      `${host} - ${user ?? '-'} [${accessLogTime(seconds, random.pick([0, 60, -330]))}]`,
      `"${method} ${target}${query} HTTP/1.1" ${status} ${size ?? '-'} ${quoted(referer)} ${quoted(agent)}`,
      ...(ms === null ? [] : [random.pick([`"${(ms / 1000).toFixed(3)}"`, `rt=${(ms / 1000).toFixed(3)}`])]),
    ];
    const made: Made = {
      consumer: user === null ? null : { identifier: user },
      isExcluded: excluded,
      isProbe: isRefused,
      shown: {
        ...nothingCaptured(),
        timestamp: new Date(seconds * 1000).toISOString(),
        request_uuid: null,
        env,
        consumer: user,
        method,
        // All static files of one extension have one pattern.
        path: path === ASSET_PATH ? '/*.ico' : path,
        url: `https://shop.example.com${target}${query}`,
        status_code: status,
        request_size_bytes: null,
        response_size_bytes: size ?? 0,
        response_time_ms: ms ?? 0,
        client_ip: host,
        client_country_iso_code: country,
        request_headers: [
          ['user-agent', agent],
          ...(referer === null ? [] : ([['referer', referer]] as [string, string][])),
        ],
      },
    };
    return { text: fields.join(' '), made };
  }

  /** A request whose line names no route, and which the application refused. */
  refused(path: string, round: number): Made {
    const made = this.whole(round, 14);
    const target = path.replaceAll('{id}', () => String(this.random.integer(1, 99)));
    const shown = { ...made.shown, path, url: `https://api.example.com${target}`, status_code: 404 };
    return { ...made, shown: { ...shown, request_headers: [] }, isExcluded: false, isProbe: true };
  }

  /** An entry of `requests`; a `|` in a consumer arrives as the JavaScript library sends it. */
  entry(round: number): Entry {
    const { random } = this;
    const consumer = this.consumer(round);
    const bare = consumer && { identifier: consumer.identifier };
    const [path, spelled] = random.pick(ROUTES);
    const hasPath = random.chance(0.9);
    const method = random.pick(METHODS);
    const requests = random.integer(0, 60);
    const [received, sent] = [random.integer(0, 1_000_000), random.integer(0, 1_000_000)].map((bytes) =>
      requests === 0 ? 0 : bytes,
    ) as [number, number];
    const isSnake = random.chance(0.8);
    const name = (snake: string, camel: string) => (isSnake ? snake : camel);
    const wire: Record<string, unknown> = {
      consumer: bare?.identifier ?? random.pick([null, '', undefined]),
      method,
      path: hasPath ? spelled : random.pick([null, '']),
      status_code: random.pick(STATUSES),
      [name('request_count', 'requestCount')]: requests,
      [name('request_size_sum', 'requestSizeSum')]: received,
      [name('response_size_sum', 'responseSizeSum')]: sent,
      response_times: { '0': requests },
      request_sizes: random.pick([null, {}, 'odd']),
    };
    const count = {
      consumer: bare,
      method,
      path: hasPath ? path : null,
      requests,
      bytes_received: received,
      bytes_sent: sent,
    };
    const [prefix, suffix] = bare?.identifier.split('|') ?? [];
    if (suffix !== undefined) {
      Object.assign(wire, { consumer: prefix, method: suffix, path: method, status_code: null });
      return { wire, count: { ...count, path: null } };
    }
    if (random.chance(0.03)) {
      wire[name('request_size_sum', 'requestSizeSum')] = random.pick([-1, NaN, '12', 2 ** 53]);
      count.bytes_received = 0;
    }
    if (random.chance(0.03)) {
      wire.consumer = random.pick([true, {}, ['a']]);
      count.consumer = null;
    }
    if (random.chance(0.03)) {
      wire[name('request_count', 'requestCount')] = random.pick([-1, 1.5, 'many', null]);
      return { wire, count: null };
    }
    return { wire, count };
  }

  private size(): number | null {
    const { random } = this;
    return random.chance(0.2) ? null : random.integer(0, random.chance(0.01) ? 2 ** 40 : 5_000);
  }

  private exception() {
    const { random } = this;
    return {
      type: 'TypeError',
      message: random.text(),
      stacktrace: `at ${random.text()}`,
      tracker_event_id: random.chance(0.5) ? random.hex(32) : null,
    };
  }

  private log(at: number) {
    const { random } = this;
    const micros = String(random.integer(0, 999)).padStart(3, '0');
    return {
      timestamp: `${new Date(at).toISOString().slice(0, -1)}${micros}Z`,
      message: random.text(),
      level: random.pick(['info', 'WARN', 'error']),
      logger: random.chance(0.5) ? 'app.orders' : null,
      file: random.chance(0.5) ? 'orders.ts' : null,
      line: random.chance(0.5) ? random.integer(0, 9_999) : null,
    };
  }

  private span() {
    const { random } = this;
    const start = 1_735_689_600_000_000_000n + BigInt(random.integer(0, 2 ** 40));
    const duration = BigInt(random.integer(0, 2 ** 33));
    return {
      span_id: random.hex(16),
      parent_span_id: random.chance(0.5) ? random.hex(16) : null,
      name: random.text(),
      kind: random.pick(['INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']),
      start_time_ns: String(start),
      end_time_ns: String(start + duration),
      duration_ns: String(duration),
      status: random.pick(['UNSET', 'OK', 'ERROR']),
      attributes: { 'http.route': random.text(), ok: true, list: [1, 'a', null], nested: { a: { b: 0.5 } } },
    };
  }
}

function nothingCaptured() {
  return {
    request_headers: [],
    response_headers: [],
    request_body_json: null,
    response_body_json: null,
    trace_id: null,
    exception: null,
    logs: [],
    spans: [],
  };
}

/** `17/May/2015:10:05:03 +0100` for `seconds` since the epoch; the clock is `offsetMinutes` ahead of UTC. */
function accessLogTime(seconds: number, offsetMinutes: number): string {
  const [, weekday, day, month, year, time] =
    /^(\w+), (\d+) (\w+) (\d+) ([\d:]+)/.exec(
      new Date((seconds + offsetMinutes * 60) * 1000).toUTCString(),
    ) ?? [];
  if (weekday === undefined) throw new Error('No such time');
  const minutes = Math.abs(offsetMinutes);
  const offset = [Math.floor(minutes / 60), minutes % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join('');
  return `${day}/${month}/${year}:${time} ${offsetMinutes < 0 ? '-' : '+'}${offset}`;
}
