import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { EMPTY_CAPTURE, toCaptureJson } from '../../../records/capture.js';
import type { LineResult, ParseOptions, ParsedRequest } from './parsed-request.js';
import { LineParser } from './request-format.js';

const TIME = '17/May/2015:10:05:03 +0000';
const BROWSER = '"https://www.example.com/" "Mozilla/5.0 (X11; Linux x86_64)"';

function line({
  host = '203.0.113.7',
  user = '-',
  time = TIME,
  request = 'GET /a HTTP/1.1',
  rest = '200 512',
}) {
  return `${host} - ${user} [${time}] "${request}" ${rest}`;
}

function parseCombinedLine(text: string, options?: ParseOptions): LineResult {
  const result = new LineParser('combined', options).parse(text);
  if (result === null) throw new Error('no line');
  return result;
}

function parseRecord(text: string, options?: ParseOptions): ParsedRequest {
  const result = parseCombinedLine(text, options);
  if (!('record' in result)) throw new Error(result.reason);
  return result.record;
}

describe('parseCombinedLine', () => {
  it('reads a line of the combined format', () => {
    const text = line({
      host: '8.8.8.8',
      request: 'GET /users/7?full=1 HTTP/1.1',
      rest: `200 512 ${BROWSER}`,
    });
    expect(parseRecord(text)).toEqual({
      request_uuid: null,
      timestamp: Date.UTC(2015, 4, 17, 10, 5, 3),
      env: null,
      consumer: null,
      method: 'GET',
      path: '/users/{id}',
      is_path_inferred: true,
      url: '/users/7?full=1',
      status_code: 200,
      request_size_bytes: null,
      response_size_bytes: 512,
      response_time_ms: null,
      client_ip: '8.8.8.8',
      client_country_iso_code: 'US',
      excluded_from_logs: false,
      captured_json: toCaptureJson({
        ...EMPTY_CAPTURE,
        request_headers: [
          ['user-agent', 'Mozilla/5.0 (X11; Linux x86_64)'],
          ['referer', 'https://www.example.com/'],
        ],
      }),
    });
  });

  it.each([
    ['the common format', '200 512'],
    ['a referer alone', '200 512 "-"'],
    ['further fields', `200 512 ${BROWSER} "203.0.113.9" 0.004`],
    ['further fields without quotes', '200 512 0.004 x'],
    ['a user agent that was cut off', '200 512 "-" "Mozilla/5.0 (compatible; +http://www.example.com'],
    ['a referer that was cut off', '200 512 "http://www.exam'],
    ['escaped quotes in the user agent', '200 512 "-" "a \\"b\\" c"'],
  ])('reads %s', (_, rest) => {
    expect(parseRecord(line({ rest }))).toMatchObject({ status_code: 200, response_size_bytes: 512 });
  });

  it.each(['', ' "203.0.113.9"', ' 0.004', ' "-" rt=0.004'])(
    'rejects a line that another follows without a line feed, after the fields%s',
    (further) => {
      const first = line({ rest: `200 512 ${BROWSER}${further}` });
      for (const next of [line({ rest: `200 512 ${BROWSER}` }), line({ rest: '404 -' })])
        expect(parseCombinedLine(first + next)).toEqual({
          reason: 'line: another request follows; each must end with a line feed',
        });
    },
  );

  it.each([
    `[${TIME}] `,
    `[${TIME}] \\"GET / HTTP/1.1\\" 200 1`,
    `x [${TIME}] \\x22GET / HTTP/1.1\\x22 200 1`,
  ])('reads a line to which a client sent %s', (text) => {
    for (const rest of [`200 512 "-" "${text}"`, `200 512 ${BROWSER} "${text}" "GET / HTTP/1.1"`])
      expect(parseRecord(line({ rest }))).toMatchObject({ status_code: 200, url: '/a' });
  });

  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['client.example.com', null],
    ['-', null],
    ['999.1.1.1', null],
  ])('takes the host %s for the address %p', (host, client_ip) => {
    expect(parseRecord(line({ host })).client_ip).toBe(client_ip);
  });

  it.each(['-', 'bob', 'bob jones', 'bob@example.com', '"', 'john [x]', '[x] [y]', '- [', `[${TIME}]`])(
    'reads the line of the user %s, and names no consumer unless asked to',
    (user) => {
      const record = { consumer: null, url: '/a', client_ip: '203.0.113.7' };
      expect(parseRecord(line({ user }))).toMatchObject(record);
    },
  );

  it.each([
    ['-', null],
    ['bob', { identifier: 'bob' }],
    ['john [x]', { identifier: 'john [x]' }],
    ['auth0|5f7c8ec7', { identifier: 'auth0|5f7c8ec7' }],
    ['a\\"b\\xc3\\xbc', { identifier: 'a"bü' }],
    [`${'a'.repeat(127)} b`, { identifier: 'a'.repeat(127) }],
  ])('makes of the user %p the consumer %j with consumerFrom', (user, consumer) => {
    expect(parseRecord(line({ user }), { consumerFrom: 'user' }).consumer).toEqual(consumer);
    const onVirtualHost = `www.example.com:80 ${line({ user })}`;
    expect(parseRecord(onVirtualHost, { consumerFrom: 'user' }).consumer).toEqual(consumer);
  });

  it.each([
    ['www.example.com:443', '203.0.113.7', 'https://www.example.com/a', '203.0.113.7'],
    ['www.example.com:80', '2001:db8::7', 'http://www.example.com/a', '2001:db8::7'],
    ['www.example.com:8080', '203.0.113.7', 'http://www.example.com:8080/a', '203.0.113.7'],
    ['192.0.2.1:443', '203.0.113.7', 'https://192.0.2.1/a', '203.0.113.7'],
    ['[2001:db8::1]:443', '203.0.113.7', 'https://[2001:db8::1]/a', '203.0.113.7'],
    ['www.example.com', '203.0.113.7', 'http://www.example.com/a', '203.0.113.7'],
    ['www.example.com:443', 'client.example.net', 'https://www.example.com/a', null],
    ['www.example.com:80', '-', 'http://www.example.com/a', null],
  ])('keeps the virtual host %s and the client %s', (virtualHost, host, url, client_ip) => {
    const text = `${virtualHost} ${line({ host })}`;
    expect(parseRecord(text, { baseUrl: 'https://elsewhere.example' })).toMatchObject({
      url,
      path: '/a',
      client_ip,
    });
  });

  it.each([
    ['203.0.113.7:54321', 'bob jones', '203.0.113.7'],
    ['2001:db8::7', 'bob jones', '2001:db8::7'],
    ['[2001:db8::7]:443', 'bob', '2001:db8::7'],
    ['client.example.com:443', 'bob', null],
  ])('takes the host %s of the user %s for no virtual host', (host, user, client_ip) => {
    expect(parseRecord(line({ host, user }))).toMatchObject({ client_ip, url: '/a' });
  });

  it.each([
    ['GET /a?b HTTP/1.1', 'https://api.example.com/v2/a?b', '/v2/a'],
    ['GET //a HTTP/1.1', 'https://api.example.com/v2//a', '/v2//a'],
    ['GET http://www.example.com/a HTTP/1.1', 'http://www.example.com/a', '/a'],
    ['OPTIONS * HTTP/1.1', '*', '*'],
    ['CONNECT example.com:443 HTTP/1.1', 'example.com:443', '/example.com:443'],
  ])('completes the target of %p with the base URL', (request, url, path) => {
    expect(parseRecord(line({ request }), { baseUrl: 'https://api.example.com/v2' })).toMatchObject({
      url,
      path,
    });
  });

  it.each([
    ['nginx', '0.004', 4],
    ['nginx', '1.500 0.001', 1500],
    ['nginx', '"203.0.113.9" 0.004', 4],
    ['nginx', '"-" "0.004"', 4],
    ['ingress-nginx', '451 0.002 [shop-80] [] 10.0.0.1:8080 12 0.001 200 abc', 2],
    ['a name', 'rt=0.123', 123],
    ['a name', 'uct="0.000" uht="0.002" urt="0.003" rt=0.004', 4],
    ['a name', '"-" rt="1.000" uct="0.1"', 1000],
    ['a name', 'request_time=0.020 upstream=0.010', 20],
    ['gunicorn', '0.012345', 12],
    ['Traefik', '42 "shop@docker" "http://10.0.0.3:80" 12ms', 12],
    ['%D of Apache', '12345', null],
    ['%T of Apache', '3', null],
    ['a list of upstreams', '"0.001, 0.002"', null],
    ['a ratio', '"3.45"', null],
    ['a version', '1.1', null],
    ['text', '"took 0.004 s" x0.004 0.004x', null],
    ['a quote that stays open', '"0.004', null],
  ])('finds the response time of %s behind the user agent: %s', (_, further, response_time_ms) => {
    expect(parseRecord(line({ rest: `200 512 ${BROWSER} ${further}` }))).toMatchObject({ response_time_ms });
  });

  it('finds the response time behind the size of the common format', () => {
    expect(parseRecord(line({ rest: '200 512 0.250' })).response_time_ms).toBe(250);
  });

  it.each([
    ['10.0.0.1', '8.8.8.8', '8.8.8.8'],
    ['10.0.0.1', '10.1.1.1, 8.8.8.8, 1.1.1.1', '8.8.8.8'],
    ['10.0.0.1', '8.8.8.8:54321', '8.8.8.8'],
    ['::1', '2a00:1450::1', '2a00:1450::1'],
    ['proxy.internal', '8.8.8.8', '8.8.8.8'],
    ['-', '8.8.8.8', '8.8.8.8'],
    ['1.1.1.1', '8.8.8.8', '1.1.1.1'],
    ['10.0.0.1', '-', '10.0.0.1'],
    ['10.0.0.1', '10.1.1.1, unknown', '10.0.0.1'],
    ['10.0.0.1', 'http://8.8.8.8/', '10.0.0.1'],
    ['10.0.0.1', `${'10.1.1.1,'.repeat(40)}8.8.8.8`, '10.0.0.1'],
  ])('gives the host %s forwarded for %s the address %s', (host, forwardedFor, client_ip) => {
    expect(parseRecord(line({ host, rest: `200 1 ${BROWSER} "${forwardedFor}" 0.004` }))).toMatchObject({
      client_ip,
    });
  });

  it.each([
    ['"-" "curl/8"', [['user-agent', 'curl/8']]],
    ['"https://a.example/" "-"', [['referer', 'https://a.example/']]],
    ['"" "a \\"b\\" \\xc3\\xbc\\x00"', [['user-agent', 'a "b" ü\uFFFD']]],
    ['"-" "cut off', [['user-agent', 'cut off']]],
  ])('keeps of the fields %s the headers %j', (fields, headers) => {
    const { captured_json: capture } = parseRecord(line({ rest: `200 1 ${fields}` }));
    expect(JSON.parse(capture)).toEqual({ ...EMPTY_CAPTURE, request_headers: headers });
  });

  it.each(['', '"-" "-"', '"-"'])('captures nothing of the fields %p', (fields) => {
    expect(parseRecord(line({ rest: `200 1 ${fields}` })).captured_json).toBe('');
  });

  it('leaves out and names a size and a time beyond their limits', () => {
    const text = line({ rest: `200 17592186044417 ${BROWSER} 999999999.000` });
    expect(parseCombinedLine(text)).toMatchObject({
      record: { response_size_bytes: null, response_time_ms: null },
      ignored: ['response_size_bytes', 'response_time_ms'],
    });
  });

  it.each([
    ['17/May/2015:10:05:03 +0000', '2015-05-17T10:05:03.000Z'],
    ['17/May/2015:10:05:03 +0200', '2015-05-17T08:05:03.000Z'],
    ['01/Jan/2016:00:00:00 +0545', '2015-12-31T18:15:00.000Z'],
    ['31/Dec/2015:23:59:59 -0930', '2016-01-01T09:29:59.000Z'],
    ['29/Feb/2016:12:00:00 +0000', '2016-02-29T12:00:00.000Z'],
    ['7/May/2015:10:05:03 +0000', '2015-05-07T10:05:03.000Z'],
    ['17/May/2015:10:05:03.417 +0200', '2015-05-17T08:05:03.417Z'],
    ['17/May/2015:10:05:03', '2015-05-17T10:05:03.000Z'],
    ['17/May/2015 10:05:03', '2015-05-17T10:05:03.000Z'],
    ['17/May/2015:10:05:03 UTC', '2015-05-17T10:05:03.000Z'],
    ['2015-05-17T10:05:03+02:00', '2015-05-17T08:05:03.000Z'],
    ['2015-05-17 10:05:03.417 +0000', '2015-05-17T10:05:03.417Z'],
  ])('reads the time %s as %s', (time, expected) => {
    expect(new Date(parseRecord(line({ time })).timestamp).toISOString()).toBe(expected);
  });

  it('shifts the time', () => {
    expect(parseRecord(line({}), { shiftMs: 86_400_000 }).timestamp).toBe(Date.UTC(2015, 4, 18, 10, 5, 3));
  });

  it.each([
    '00/May/2015:10:05:03 +0000',
    '32/May/2015:10:05:03 +0000',
    '31/Jun/2015:10:05:03 +0000',
    '29/Feb/2015:10:05:03 +0000',
    '17/Mai/2015:10:05:03 +0000',
    '17/May/2015:24:05:03 +0000',
    '17/May/2015:10:60:03 +0000',
    '17/May/2015:10:05:60 +0000',
    '17/May/2015:10:05:03 +2400',
    '17/May/2015:10:05:03 +0060',
    '17/May/1969:10:05:03 +0000',
    '17/May/0070:10:05:03 +0000',
    '01/Jan/1970:00:00:00 +0001',
    '01/Jan/2100:00:00:00 +0000',
    '2015-13-17T10:05:03+00:00',
  ])('rejects the time %p', (time) => {
    const reason = 'timestamp: must be a date and time from 1970 to 2099';
    expect(parseCombinedLine(line({ time }))).toEqual({ reason });
  });

  it.each(['17/may/2015:10:05:03 +0000', '17/05/2015:10:05:03 +0000', 'yesterday', ''])(
    'rejects the text %p as no time',
    (time) => {
      const reason = 'time: must have the form 17/May/2015:10:05:03 +0000, from 1970 to 2099';
      expect(parseCombinedLine(line({ time }))).toEqual({ reason });
    },
  );

  it.each([
    ['GET / HTTP/1.0', 'GET', '/'],
    ['POST /a?b=c#d HTTP/2.0', 'POST', '/a?b=c#d'],
    ['get /a HTTP/2', 'GET', '/a'],
    ['UPDATEREDIRECTREF /a HTTP/1.1', 'UPDATEREDIRECTREF', '/a'],
    ['GET http://www.example.com/a HTTP/1.1', 'GET', 'http://www.example.com/a'],
    ['OPTIONS * HTTP/1.0', 'OPTIONS', '*'],
    ['CONNECT example.com:443 HTTP/1.1', 'CONNECT', 'example.com:443'],
    ['GET /a', 'GET', '/a'],
    ['GET /a b HTTP/1.1', 'GET', '/a b'],
    ['GET /%zz HTTP/1.1', 'GET', '/%zz'],
    ['GET /a\\"b\\\\c HTTP/1.1', 'GET', '/a"b\\c'],
    ['GET /a\\x22b\\x5Cc HTTP/1.1', 'GET', '/a"b\\c'],
    ['GET /\\xc3\\xbc\\xF0\\x9F\\x92\\xA5 HTTP/1.1', 'GET', '/ü💥'],
    ['GET /\\xe4 HTTP/1.1', 'GET', '/\uFFFD'],
    ['GET /a\\x00b HTTP/1.1', 'GET', '/a\uFFFDb'],
    ['GET /a\\tb HTTP/1.1', 'GET', '/a\tb'],
  ])('reads the request %p', (request, method, url) => {
    expect(parseRecord(line({ request }))).toMatchObject({ method, url });
  });

  it.each([
    ['-', 'request: there is none'],
    ['', 'request: there is none'],
    ['GET', 'request: must have the form METHOD target HTTP/version'],
    ['GET ', 'request: must have the form METHOD target HTTP/version'],
    ['GET  HTTP/1.1', 'request: must have the form METHOD target HTTP/version'],
    [' /a HTTP/1.1', 'request: must have the form METHOD target HTTP/version'],
    ['/a HTTP/1.1', 'request: must have the form METHOD target HTTP/version'],
    ['GET /a b', 'request: must have the form METHOD target HTTP/version'],
    ['hello world', 'request: must have the form METHOD target HTTP/version'],
    ['\\x16\\x03\\x01\\x02\\x00\\x01', 'request: must have the form METHOD target HTTP/version'],
    ['G=T /a HTTP/1.1', 'request: must have the form METHOD target HTTP/version'],
    [`${'A'.repeat(33)} /a HTTP/1.1`, 'request: must have the form METHOD target HTTP/version'],
    ['GET /a HTTP/1.1\\', 'request: its quote is not closed'],
    [`GET /${'a'.repeat(65_536)} HTTP/1.1`, 'url: must have 1 to 65536 characters'],
  ])('rejects the request %.40p', (request, reason) => {
    expect(parseCombinedLine(line({ request, rest: '400 0' }))).toEqual({ reason });
  });

  it('takes a URL of 65,536 characters', () => {
    const url = `/${'a'.repeat(65_535)}`;
    expect(parseRecord(line({ request: `GET ${url} HTTP/1.1` })).url).toBe(url);
  });

  it.each([
    ['304 -', 304, 0],
    ['200 0', 200, 0],
    ['499 0', 499, 0],
    ['206 17592186044416', 206, 2 ** 44],
    ['999 0', 999, 0],
  ])('reads status and size %p', (rest, status_code, response_size_bytes) => {
    expect(parseRecord(line({ rest }))).toMatchObject({ status_code, response_size_bytes });
  });

  it.each([
    ['99 1', 'status_code: must be an integer from 100 to 999'],
    ['000 1', 'status_code: must be an integer from 100 to 999'],
    ['1000 1', 'status_code: must be an integer from 100 to 999'],
    ['- 1', 'line: status and size must follow the request'],
    ['200', 'line: status and size must follow the request'],
    ['200 -1', 'line: status and size must follow the request'],
    ['200 1k', 'line: status and size must follow the request'],
    ['', 'line: status and size must follow the request'],
  ])('rejects status and size %p', (rest, reason) => {
    expect(parseCombinedLine(line({ rest }))).toEqual({ reason });
  });

  it.each([
    '',
    'hello',
    '{"timestamp":"2025-05-14T10:00:00Z"}',
    `[${TIME}] "GET / HTTP/1.1" 200 1`,
    `203.0.113.7 [${TIME}] "GET / HTTP/1.1" 200 1`,
    `203.0.113.7 - - ${TIME} "GET / HTTP/1.1" 200 1`,
    `203.0.113.7 - - [${TIME}] GET / HTTP/1.1 200 1`,
    `203.0.113.7 - - [${TIME}`,
  ])('rejects %p as no line of an access log', (text) => {
    const reason = 'line: must begin with host, identity, user, [time] and "request"';
    expect(parseCombinedLine(text)).toEqual({ reason });
  });

  it.each([
    [true, 'GET /favicon.ico HTTP/1.1', BROWSER],
    [true, 'GET /a HTTP/1.1', '"-" "kube-probe/1.31"'],
    [true, 'GET /a HTTP/1.1', '"-" "ELB-HealthChecker/2.0'],
    [false, 'GET /a HTTP/1.1', '"http://www.example.com/kube-probe" "-"'],
    [false, 'GET /a HTTP/1.1', ''],
  ])('excludes it from the logs: %p for %s by %s', (excluded_from_logs, request, fields) => {
    expect(parseRecord(line({ request, rest: `200 1 ${fields}` })).excluded_from_logs).toBe(
      excluded_from_logs,
    );
  });

  it('takes any text, and any damage to a good line, without throwing', () => {
    const good = line({ request: 'GET /\\xc3\\"a HTTP/1.1', rest: `200 512 ${BROWSER}` });
    const damaged = fc
      .tuple(fc.nat(good.length), fc.nat(8), fc.string({ unit: 'binary', maxLength: 4 }))
      .map(([at, length, text]) => good.slice(0, at) + text + good.slice(at + length));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), damaged), (text) => {
        const result = parseCombinedLine(text);
        if ('reason' in result) expect(result.reason).toMatch(/^[^\n]{1,100}$/);
        else expect(result.record.url).not.toBe('');
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['letters', 'a'],
    ['blanks', ' '],
    ['brackets', ' ['],
    ['ends of the time', 'a b c [] "'],
    ['quotes', `${line({})} "`],
    ['backslashes', '\\'],
    ['time brackets', ` [${TIME}]`],
    ['further fields', ' "a'],
  ])(
    'reads a million characters of %s in good time',
    async (_, piece) => {
      const text = piece.repeat(1_000_000 / piece.length);
      const lines = [
        text,
        line({ request: text }),
        line({ user: text }),
        `www.example.com:443 ${line({ user: text })}`,
        text + line({}),
        line({ rest: `200 1 ${BROWSER} ${text}` }),
      ];
      for (const line of lines) {
        parseCombinedLine(line);
        // The time limit ends the test here alone.
        await nextTurn();
      }
    },
    20_000,
  );
});
