import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { ParseOptions, ParsedRequest } from './parsed-request.js';
import { LineParser, REQUEST_FORMATS } from './request-format.js';

const readFixture = (name: string) =>
  readFileSync(new URL(`../../../../test/fixtures/${name}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !isOfOtherFormat(name, line));

/** Two fixtures have lines of another format on purpose. */
function isOfOtherFormat(name: string, line: string): boolean {
  if (name === 'access_small.log') return line.startsWith('{');
  return name === 'requests_small.ndjson' && !line.startsWith('{');
}

const FIXTURES: readonly (readonly [string, string])[] = [
  ['nginx', 'access-logs/nginx.json.log'],
  ['caddy', 'access-logs/caddy.json.log'],
  ['traefik', 'access-logs/traefik.json.log'],
  ['envoy', 'access-logs/envoy.json.log'],
  ['w3c', 'access-logs/iis.log'],
  ['w3c', 'access-logs/cloudfront.log'],
  ['alb', 'access-logs/alb.log'],
  ['combined', 'access_small.log'],
  ['ndjson', 'requests_small.ndjson'],
];

interface Read {
  format: string | undefined;
  records: ParsedRequest[];
  /** By line number from 1. */
  rejected: Record<number, string>;
  ignored: string[];
}

function readLines(lines: readonly string[], format?: string, options: ParseOptions = {}): Read {
  const parser = new LineParser(format, options);
  const read: Read = { format: undefined, records: [], rejected: {}, ignored: [] };
  for (const [index, line] of lines.entries()) {
    const result = parser.parse(line);
    if (result === null) continue;
    if ('reason' in result) read.rejected[index + 1] = result.reason;
    else {
      read.records.push(result.record);
      read.ignored.push(...result.ignored);
    }
  }
  return { ...read, format: parser.format };
}

/** A record with its capture parsed, without what follows from other members. */
function show({ captured_json, client_country_iso_code: _, is_path_inferred, ...record }: ParsedRequest) {
  expect(is_path_inferred).toBe(true);
  const capture = captured_json === '' ? {} : (JSON.parse(captured_json) as Record<string, unknown>);
  return { ...record, timestamp: new Date(record.timestamp).toISOString(), ...capture };
}

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64)';
const TRACE = '0af7651916cd43dd8448eb211c80319c';

/** What the fixtures' first two lines have in common. */
const FIRST = {
  timestamp: '2026-11-20T08:15:02.417Z',
  method: 'GET',
  path: '/orders/{id}',
  url: 'https://shop.example.com/orders/42?full=1',
  status_code: 200,
  response_time_ms: 215,
  client_ip: '198.51.100.20',
};
const SECOND = {
  timestamp: '2026-11-20T08:15:03.002Z',
  method: 'POST',
  url: 'http://shop.example.com:8080/orders',
  status_code: 201,
  response_time_ms: 33,
  client_ip: '8.8.8.8',
};

describe('access logs of common servers', () => {
  it.each(FIXTURES)('are recognized: %s in %s', (format, name) => {
    const lines = readFixture(name);
    const { format: recognized, records } = readLines(lines);
    expect(recognized).toBe(format);
    expect(records.length).toBeGreaterThan(1);
    expect(readLines(lines, format)).toEqual({ ...readLines(lines), rejected: expect.any(Object) });
  });

  it('are never recognized as another format, whichever of their lines is the first', () => {
    for (const [format, name] of FIXTURES)
      for (const line of readFixture(name))
        // An entry of CloudFront is one also without its `#Fields` line.
        expect([line, format, line.includes('FRA56') && 'cloudfront', undefined]).toContain(
          readLines([line]).format,
        );
  });

  it('give no request if another format is named', () => {
    // The names of nginx are free, so NDJSON can be read as nginx as well, and nginx as any JSON.
    const FREE = ['nginx', 'fastly', 'json'];
    for (const [format, name] of FIXTURES.filter(([fixtureFormat]) => fixtureFormat !== 'ndjson'))
      for (const other of REQUEST_FORMATS.filter(
        (candidate) =>
          candidate !== format &&
          !(FREE.includes(candidate) && FREE.includes(format)) &&
          !(candidate === 'cloudfront' && format === 'w3c'),
      ))
        expect([name, other, readLines(readFixture(name), other).records]).toEqual([name, other, []]);
  });

  it('reads nginx, with its variables as names and other common names', () => {
    const { records, rejected, ignored } = readLines(readFixture('access-logs/nginx.json.log'), undefined, {
      consumerFrom: 'user',
      baseUrl: 'https://base.example.com',
    });
    expect(records.slice(0, 2).map(show)).toMatchObject([
      {
        ...FIRST,
        consumer: { identifier: 'anna' },
        request_size_bytes: 318,
        response_size_bytes: 1024,
        request_headers: [
          ['host', 'shop.example.com'],
          ['user-agent', BROWSER],
          ['referer', 'https://shop.example.com/'],
          ['traceparent', `00-${TRACE}-b7ad6b7169203331-01`],
        ],
        trace_id: TRACE,
      },
      {
        ...SECOND,
        url: 'https://shop.example.com/orders',
        consumer: null,
        request_size_bytes: 57,
        response_size_bytes: 88,
        trace_id: null,
      },
    ]);
    expect(records[2]).toMatchObject({
      timestamp: Date.UTC(2026, 10, 20, 8, 15, 4),
      client_ip: '2001:db8::5',
      excluded_from_logs: true,
      captured_json: '',
    });
    expect(records[3]).toMatchObject({
      url: 'https://base.example.com/search?q="café"',
      status_code: 499,
      response_time_ms: null,
    });
    expect(rejected).toEqual({
      5: 'url: is missing; the line must have request_uri or request',
      6: 'method: is missing; the line must have request_method or request',
      7: 'line: must be valid JSON',
    });
    expect(ignored).toEqual([]);
  });

  it('reads the names of a line, not those of an equal one before it', () => {
    const line = (name: string) =>
      `{"time_iso8601":"2026-11-20T10:00:00Z","request":"GET /a HTTP/1.1","status":200,"http_${name}":"1"}`;
    const { records } = readLines([line('\\\\'), line('\\t')], 'nginx');
    expect(records.map((record) => show(record))).toMatchObject([
      { request_headers: [['\\', '1']] },
      { request_headers: [['\t', '1']] },
    ]);
  });

  it('reads Caddy, with its time and duration in each of its formats', () => {
    const { records, rejected } = readLines(readFixture('access-logs/caddy.json.log'), undefined, {
      consumerFrom: 'user',
    });
    expect(records.map(show)).toMatchObject([
      {
        ...FIRST,
        consumer: { identifier: 'anna' },
        request_size_bytes: 0,
        response_size_bytes: 1024,
        request_headers: [
          ['user-agent', BROWSER],
          ['accept', 'text/html'],
          ['accept', '*/*'],
          ['traceparent', expect.any(String)],
        ],
        response_headers: [
          ['server', 'Caddy'],
          ['content-type', 'text/html; charset=utf-8'],
        ],
        trace_id: TRACE,
      },
      { ...SECOND, consumer: null, request_size_bytes: 57, response_size_bytes: 88 },
      { timestamp: '2026-11-20T08:15:04.001Z', status_code: 502, response_time_ms: 1 },
      {
        timestamp: '2026-11-20T08:15:06.250Z',
        url: 'http://[2001:db8::1]/robots.txt',
        client_ip: '198.51.100.22',
        response_time_ms: 62_500,
        response_size_bytes: 12,
      },
    ]);
    const reason = 'line: is a message of Caddy, not a request';
    expect(rejected).toEqual({ 3: reason, 5: reason });
  });

  it('reads Traefik, with its durations in nanoseconds', () => {
    const { records, rejected } = readLines(readFixture('access-logs/traefik.json.log'), undefined, {
      consumerFrom: 'user',
    });
    expect(records.map(show)).toMatchObject([
      {
        ...FIRST,
        consumer: { identifier: 'anna' },
        request_size_bytes: 0,
        response_size_bytes: 1024,
        request_headers: [['user-agent', BROWSER]],
        response_headers: [['content-type', 'text/html']],
        trace_id: TRACE,
      },
      { ...SECOND, consumer: null, request_size_bytes: 57, response_size_bytes: 88 },
      { url: 'https://shop.example.com/carts/7', status_code: 502, response_time_ms: 1 },
    ]);
    expect(rejected).toEqual({
      3: 'method: is missing; the line must have RequestMethod',
      5: 'status_code: must be an integer from 100 to 999',
    });
  });

  it('reads Envoy, with the names of Istio and of Envoy Gateway', () => {
    const { records, rejected } = readLines(readFixture('access-logs/envoy.json.log'));
    expect(records.map(show)).toMatchObject([
      {
        ...FIRST,
        request_uuid: null,
        request_size_bytes: 0,
        response_size_bytes: 1024,
        request_headers: [
          ['user-agent', BROWSER],
          ['x-request-id', 'b5b5ab6e-92c7-4d09-a9a7-2f9a1bbd9ad1'],
        ],
        trace_id: TRACE,
      },
      { ...SECOND, request_size_bytes: 57, response_size_bytes: 88 },
      { url: 'https://shop.example.com/carts/7', status_code: 503, client_ip: '2001:db8::7' },
    ]);
    expect(rejected).toEqual({
      4: 'status_code: must be an integer from 100 to 999',
      5: 'method: is missing; the line must have method',
    });
  });

  it('reads IIS, with #Fields that change in the file', () => {
    const { records, rejected } = readLines(readFixture('access-logs/iis.log'), undefined, {
      consumerFrom: 'user',
      baseUrl: 'https://base.example.com',
    });
    expect(records.map(show)).toMatchObject([
      {
        ...FIRST,
        timestamp: '2026-11-20T08:15:02.000Z',
        consumer: { identifier: 'CORP\\anna' },
        request_size_bytes: 318,
        response_size_bytes: 1388,
        request_headers: [
          ['user-agent', BROWSER],
          ['referer', 'https://shop.example.com/'],
        ],
      },
      {
        ...SECOND,
        timestamp: '2026-11-20T08:15:03.000Z',
        client_ip: '203.0.113.9',
        consumer: null,
        request_size_bytes: 459,
        response_size_bytes: 301,
      },
      {
        timestamp: '2026-11-20T08:15:05.000Z',
        url: 'https://base.example.com/left',
        status_code: 500,
        response_time_ms: 1203,
        client_ip: '198.51.100.22',
      },
      { url: 'https://base.example.com/late?full=2', status_code: 304, client_ip: '2001:db8::5' },
    ]);
    expect(rejected).toEqual({
      7: 'line: must have as many values as the #Fields line before it has names',
      13: 'method: is missing; the line must have cs-method',
    });
  });

  it('reads CloudFront, with times in seconds and encoded headers', () => {
    const { records, rejected } = readLines(readFixture('access-logs/cloudfront.log'));
    expect(records.map(show)).toMatchObject([
      {
        ...FIRST,
        timestamp: '2026-11-20T08:15:02.000Z',
        request_size_bytes: 318,
        response_size_bytes: 1388,
        request_headers: [
          ['referer', 'https://shop.example.com/'],
          ['user-agent', BROWSER],
        ],
      },
      {
        ...SECOND,
        url: 'http://shop.example.com/orders',
        timestamp: '2026-11-20T08:15:03.000Z',
        response_time_ms: 1000,
        request_headers: [['user-agent', 'old agent (%)']],
      },
    ]);
    expect(rejected).toEqual({ 5: 'status_code: must be an integer from 100 to 999' });
  });

  it('rejects a line of a load balancer that another follows without a line feed, and no text of a client', () => {
    const [first = '', second = ''] = readFixture('access-logs/alb.log');
    const beginning = first.slice(first.indexOf(' ') + 1, first.indexOf('"'));
    const sent = first.replace(/(" ")[^"]*/, (_, quote: string) => `${quote}${beginning}`);
    expect(sent).not.toBe(first);
    const { records, rejected } = readLines([first + second, sent], 'alb');
    expect(records).toHaveLength(1);
    expect(rejected).toEqual({ 1: 'line: another request follows; each must end with a line feed' });
  });

  it('reads load balancers of AWS, with -1 for a time that is not known', () => {
    const { records, rejected } = readLines(readFixture('access-logs/alb.log'));
    expect(records.map(show)).toMatchObject([
      {
        ...FIRST,
        request_size_bytes: 318,
        response_size_bytes: 1388,
        request_headers: [['user-agent', BROWSER]],
        trace_id: '5833736423a8c76965a2ef7629b185e3',
      },
      {
        ...SECOND,
        client_ip: '203.0.113.9',
        request_headers: [['user-agent', 'quote"agent']],
        trace_id: '67891233abcdef012345678912345678',
      },
      {
        timestamp: '2026-11-20T08:15:04.000Z',
        url: 'https://shop.example.com/carts/7',
        status_code: 503,
        response_time_ms: null,
      },
      { timestamp: '2026-11-20T08:15:06.100Z', url: 'http://www.example.com/', response_time_ms: 1 },
      { timestamp: '2026-11-20T08:15:07.100Z', status_code: 101, client_ip: '2001:db8::5' },
    ]);
    expect(rejected).toEqual({
      4: 'request: must have the form METHOD target HTTP/version',
      7: 'line: does not have the form of an AWS load balancer; there is no valid $bytes_sent',
    });
  });

  it('rejects entries of W3C extended without a #Fields line', () => {
    const [entry] = readFixture('access-logs/iis.log').slice(4);
    expect(readLines([entry!], 'w3c').rejected).toEqual({
      1: 'line: there is no #Fields line before it',
    });
  });

  it.each([
    [
      'a Tomcat',
      '#Fields: date time cs-method cs-uri sc-status time-taken cs(User-Agent)',
      '0.215 "a ""b"" c"',
    ],
    [
      'a server of unknown kind',
      '#Fields: date time cs-method cs-uri sc-status time-taken cs(User-Agent)',
      '215 a+"b"+c',
    ],
  ])('reads the decimal times and the quotes of %s', (_, fields, rest) => {
    const { records } = readLines([fields, `2026-11-20 08:15:02 GET /a?b=1 200 ${rest}`]);
    expect(records.map(show)).toMatchObject([
      { url: '/a?b=1', response_time_ms: 215, request_headers: [['user-agent', 'a "b" c']] },
    ]);
  });

  it.each([
    [1795162502.417, '2026-11-20T08:15:02.417Z'],
    [1795162502417, '2026-11-20T08:15:02.417Z'],
    [1795162502417000, '2026-11-20T08:15:02.417Z'],
    [1795162502417000000, '2026-11-20T08:15:02.417Z'],
    ['1795162502.417', '2026-11-20T08:15:02.417Z'],
    ['20/Nov/2026:09:15:02 +0100', '2026-11-20T08:15:02.000Z'],
  ])('reads the time %p of JSON logs', (ts, expected) => {
    const line = JSON.stringify({ ts, request_method: 'GET', uri: '/a', status: 200 });
    expect(readLines([line]).records.map(({ timestamp }) => new Date(timestamp).toISOString())).toEqual([
      expected,
    ]);
  });

  it.each([['yesterday'], [-5], [{}], [true], [1e300]])('rejects the time %p', (time) => {
    const line = JSON.stringify({ time, request_method: 'GET', uri: '/a', status: 200 });
    expect(readLines([line]).rejected).toEqual({
      1: 'timestamp: must be a date and time from 1970 to 2099',
    });
  });

  it('leaves out optional values that are invalid, and names them', () => {
    const line = JSON.stringify({
      msec: 1795162502,
      request_method: 'GET',
      request_uri: '/a',
      status: 200,
      request_time: 'soon',
      body_bytes_sent: -1,
      remote_addr: 'unix:',
      http_user_agent: 7,
    });
    const { records, ignored } = readLines([line]);
    expect(ignored).toEqual(['response_size_bytes', 'response_time_ms']);
    expect(records.map(show)).toMatchObject([{ client_ip: null, request_headers: [['user-agent', '7']] }]);
  });

  it('never throws, and ends in good time, on any text in any format', () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          '{"',
          '":',
          '"',
          '\\x',
          '#Fields: ',
          'time',
          ' ',
          '\t',
          '-1',
          'request',
          '{',
          '}',
          '__proto__',
        ),
        fc.string({ maxLength: 6 }),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(pieces, fc.constantFrom(...REQUEST_FORMATS), (parts, format) => {
        const line = parts.join('');
        for (const choice of [undefined, format])
          readLines(
            ['#Fields: date time cs-method', line, `{"request_uri":${JSON.stringify(line)}}`],
            choice,
          );
      }),
      { numRuns: 300 },
    );
  });

  it.each(REQUEST_FORMATS)(
    'reads lines of 200,000 characters as %s in good time',
    async (format) => {
      const alb = readFixture('access-logs/alb.log')[0]!;
      for (const piece of ['"', ' ', ' "', '\\', '\\x41', '%41', '""', 'a', '\t', '1h']) {
        const text = piece.repeat(200_000 / piece.length);
        const line = JSON.stringify({
          request: text,
          duration: text,
          request_uri: text,
          ts: text,
          status: 1,
        });
        readLines(
          ['#Fields: date time cs-method cs(Referer)', text, `1 2 3 ${text}`, line, alb + text],
          format,
        );
        readLines([alb.replace('"GET', `"GET ${text}`)], format);
        // The time limit ends the test here alone.
        await sleep(0);
      }
    },
    10_000,
  );
});

describe('the headers of a request in an access log', () => {
  it.each([
    [
      'combined',
      (agent: string) => `203.0.113.9 - - [14/May/2025:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "${agent}"`,
    ],
    [
      'json',
      (agent: string) =>
        JSON.stringify({
          timestamp: '2025-05-14T10:00:00Z',
          method: 'GET',
          url: '/',
          status_code: 200,
          user_agent: agent,
        }),
    ],
  ])('are cut as those of every sender: %s', (format, write) => {
    const { records } = readLines([write('x'.repeat(70_000))], format);
    const { request_headers } = JSON.parse(records[0]!.captured_json) as { request_headers: string[][] };
    expect(request_headers).toEqual([['user-agent', 'x'.repeat(65_536)]]);
  });
});

it('a line of JSON has 50,000 values at most', () => {
  const line = JSON.stringify({ x: Array.from({ length: 50_001 }, () => 1) });
  expect(readLines([line], 'json').rejected).toEqual({ 1: 'line: must have at most 50000 values' });
});
