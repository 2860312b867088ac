import { parseNdjsonLine } from './ndjson.parser.js';
import type { ParsedRequest } from './parsed-request.js';

const LEAST = {
  timestamp: '2025-05-14T10:00:00.123Z',
  method: 'GET',
  url: 'https://api.example.com/users/7?x=1',
  status_code: 200,
};
const UUID = '63d524d0-e69c-47aa-818c-ab3ada75b277';

function parseRecord(line: string, shiftMs?: number): ParsedRequest {
  const result = parseNdjsonLine(line, { shiftMs });
  if (!('record' in result)) throw new Error(result.reason);
  return result.record;
}
const parsed = (members: object, shiftMs?: number) =>
  parseRecord(JSON.stringify({ ...LEAST, ...members }), shiftMs);
const resultFor = (members: object) => parseNdjsonLine(JSON.stringify({ ...LEAST, ...members }));
const METHOD_RULE = 'must be a letter and up to 31 letters, digits, hyphens or underscores';

function accepted(members: object) {
  const result = resultFor(members);
  if (!('record' in result)) throw new Error(result.reason);
  return result;
}

describe('parseNdjsonLine', () => {
  it('needs only timestamp, method, url and status_code', () => {
    expect(parsed({})).toEqual({
      request_uuid: null,
      timestamp: Date.UTC(2025, 4, 14, 10, 0, 0, 123),
      env: null,
      consumer: null,
      method: 'GET',
      path: '/users/{id}',
      is_path_inferred: true,
      url: 'https://api.example.com/users/7?x=1',
      status_code: 200,
      request_size_bytes: null,
      response_size_bytes: null,
      response_time_ms: null,
      client_ip: null,
      client_country_iso_code: null,
      excluded_from_logs: false,
      captured_json: '',
    });
  });

  it('takes null for missing everywhere else, but for path: there null says that no route matched', () => {
    const others = [
      'request_uuid env consumer request_size_bytes response_size_bytes response_time_ms client_ip user_agent',
      'client_country_iso_code request_headers response_headers request_body_json response_body_json trace_id',
      'exception logs spans',
    ];
    const nulls = Object.fromEntries(others.flatMap((names) => names.split(' ')).map((name) => [name, null]));
    expect(parsed(nulls)).toEqual(parsed({}));
    expect(parsed({ path: null }).path).toBeNull();
    expect(parsed({ path: '' }).path).toBeNull();
  });

  it.each(['timestamp', 'method', 'url', 'status_code'])('rejects a line without %s', (name) => {
    for (const value of [undefined, null])
      expect(resultFor({ [name]: value })).toEqual({ reason: expect.stringMatching(`^${name}: must be `) });
  });

  it.each([
    ['', 'line: must be a JSON object'],
    ['GET / 200', 'line: must be a JSON object'],
    ['{', 'line: must be valid JSON'],
    ['{"timestamp":NaN}', 'line: must be valid JSON'],
    ['{"attributes":1', 'line: must be valid JSON'],
    ['null', 'line: must be a JSON object'],
    ['1', 'line: must be a JSON object'],
    ['12345678901234567890', 'line: must be a JSON object'],
    ['"a"', 'line: must be a JSON object'],
    ['[{}]', 'line: belongs to a JSON array; NDJSON has one object in each line, as jq -c ".[]" writes it'],
    [`{"attributes":${'['.repeat(40_000)}`, 'line: nested too deeply'],
    [`{"attributes":${'['.repeat(50_001)}`, 'line: must have at most 50000 values'],
  ])('rejects the line %.30p', (line, reason) => {
    expect(parseNdjsonLine(line)).toEqual({ reason });
  });

  it.each([
    ['timestamp', 'yesterday', 'must be an ISO 8601 date and time from 1970 to 2099'],
    ['timestamp', 1_747_216_800, 'must be an ISO 8601 date and time from 1970 to 2099'],
    ['timestamp', '2025-02-29T10:00:00Z', 'must be an ISO 8601 date and time from 1970 to 2099'],
    ['timestamp', '1969-12-31T23:59:59Z', 'must be an ISO 8601 date and time from 1970 to 2099'],
    ['timestamp', '2099-12-31T23:59:59-01:00', 'must be an ISO 8601 date and time from 1970 to 2099'],
    ['method', 7, 'must be a string'],
    ['method', 'GE T', METHOD_RULE],
    ['method', '7GET', METHOD_RULE],
    ['method', 'A'.repeat(33), METHOD_RULE],
    ['url', '', 'must have 1 to 65536 characters'],
    ['url', 'a'.repeat(65_537), 'must have 1 to 65536 characters'],
    ['status_code', '200', 'must be an integer from 100 to 999'],
    ['status_code', 200.5, 'must be an integer from 100 to 999'],
    ['status_code', 99, 'must be an integer from 100 to 999'],
    ['status_code', 1000, 'must be an integer from 100 to 999'],
    ['status_code', true, 'must be an integer from 100 to 999'],
  ])('rejects the required member %s %p', (name, value, rule) => {
    expect(resultFor({ [name]: value })).toEqual({ reason: `${name}: ${rule}` });
  });

  it.each([
    ['request_uuid', 'x'],
    ['request_uuid', 7],
    ['env', ''],
    ['env', 'pre prod'],
    ['env', 'a'.repeat(33)],
    ['consumer', ''],
    ['consumer', ' \t'],
    ['consumer', true],
    ['consumer', ['a']],
    ['consumer', {}],
    ['consumer', { identifier: ' ' }],
    ['path', 7],
    ['request_size_bytes', -1],
    ['request_size_bytes', 2 ** 44 + 1],
    ['response_size_bytes', 1.5],
    ['response_size_bytes', '512'],
    ['response_time_ms', -1],
    ['response_time_ms', '12'],
    ['response_time_ms', 2 ** 32],
    ['client_ip', ''],
    ['client_ip', 'client.example.com'],
    ['client_ip', '203.0.113.7:'],
    ['client_country_iso_code', 'DEU'],
    ['client_country_iso_code', ''],
    ['user_agent', 7],
    ['request_headers', { accept: '*/*' }],
    ['response_headers', 'accept: */*'],
    ['request_headers', [['a']]],
    ['response_headers', [['a', null]]],
    ['request_body_json', { a: 1 }],
    ['response_body_json', ['a']],
    ['trace_id', '4bf9'],
    ['trace_id', ''],
    ['exception', 'TypeError'],
    ['exception', { message: 'a' }],
    ['logs', {}],
    ['logs', ['a']],
    ['logs', [{ timestamp: LEAST.timestamp, message: 'a' }]],
    ['logs', [{ timestamp: 1, message: 'a', level: 'info' }]],
    ['spans', {}],
    ['spans', [null]],
    ['spans', [{ span_id: 'a', name: 'b', start_time_ns: 1 }]],
  ])('leaves out the optional member %s %j alone, and names it', (name, value) => {
    const { record } = accepted({});
    expect(accepted({ [name]: value })).toEqual({ record, ignored: [name] });
  });

  it('keeps all that can be read beside what cannot', () => {
    const members = {
      consumer: { identifier: 'bob', name: 7, group: { id: 1, name: 'b' } },
      request_headers: [['accept', '*/*'], ['cut'], ['content-length', 12], ['x-id', 12345678901234567890n]],
      exception: { type: 'TypeError', message: 7, tracker_event_id: 'e' },
      logs: ['a', { timestamp: LEAST.timestamp, message: 'kept', level: 'info', line: -1 }],
      spans: [span({}), span({ attributes: [1], status: 3, duration_ns: -1 }), {}],
      response_time_ms: 'fast',
      response_size_bytes: 512,
    };
    const text = JSON.stringify({ ...LEAST, ...members }, (_, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    const result = parseNdjsonLine(text.replace('12345678901234567000', '12345678901234567890'));
    if (!('record' in result)) throw new Error(result.reason);
    expect([...result.ignored].sort()).toEqual([
      'consumer.group',
      'consumer.name',
      'exception.message',
      'logs',
      'logs.line',
      'request_headers',
      'response_time_ms',
      'spans',
      'spans.attributes',
      'spans.duration_ns',
      'spans.status',
    ]);
    expect(result.record).toMatchObject({ consumer: { identifier: 'bob' }, response_size_bytes: 512 });
    expect(JSON.parse(result.record.captured_json)).toMatchObject({
      request_headers: [
        ['accept', '*/*'],
        ['content-length', '12'],
        ['x-id', '12345678901234567890'],
      ],
      exception: { type: 'TypeError', message: '', tracker_event_id: 'e' },
      logs: [{ message: 'kept', line: null }],
      spans: [{ attributes: {} }, { attributes: {}, status: 'UNSET', duration_ns: 1 }],
    });
  });

  it.each([
    ['4BF92F3577B34DA6A3CE929D0E0E4736', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ['4bf92f3577b34da6a3ce929d0e0e4736', '4bf92f3577b34da6a3ce929d0e0e4736'],
  ])('reads the trace ID %s in lower case', (trace_id, expected) => {
    const { record, ignored } = accepted({ trace_id });
    expect([JSON.parse(record.captured_json).trace_id, ignored]).toEqual([expected, []]);
  });

  it.each([
    ['Traefik', { ClientHost: '1.1.1.1', RequestMethod: 'GET', DownstreamStatus: 200 }],
    ['Cloudflare', { ClientIP: '1.1.1.1', ClientRequestMethod: 'GET', EdgeResponseStatus: 200 }],
    ['Google Cloud', { timestamp: LEAST.timestamp, httpRequest: { requestMethod: 'GET', status: 200 } }],
    ['Amazon API Gateway', { requestTime: '17/May/2015', httpMethod: 'GET', status: '200' }],
    ['Envoy', { start_time: LEAST.timestamp, method: 'GET', path: '/', response_flags: '-' }],
    [
      'Caddy',
      { ts: 1, logger: 'http.log.access', request: { method: 'GET' }, status: 200, resp_headers: {} },
    ],
    ['nginx', { time: 'x', remote_addr: '1.1.1.1', request_method: 'GET', status: 200 }],
    ['Elastic Common Schema', { '@timestamp': LEAST.timestamp, http: { request: { method: 'GET' } } }],
    ['pino-http', { level: 30, time: 1, req: { method: 'GET', url: '/' }, res: { statusCode: 200 } }],
  ])('says that a line is JSON of %s and what NDJSON must have', (name, members) => {
    const reason = `line: is JSON, but not a request (it looks like a log of ${name}): needs timestamp, method, url and status_code`;
    expect(parseNdjsonLine(JSON.stringify(members))).toEqual({ reason });
  });

  it.each([
    '{}',
    '{"level":"info","msg":"listening"}',
    '{"timestamp":"2025-05-14","method":"GET","code":200}',
  ])('says of the JSON %s that it is no request', (line) => {
    const reason = 'line: is JSON, but not a request: needs timestamp, method, url and status_code';
    expect(parseNdjsonLine(line)).toEqual({ reason });
  });

  it.each([
    ['2025-05-14T10:00:00.123Z', '2025-05-14T10:00:00.123Z'],
    ['2025-05-14T10:00:00.123999999Z', '2025-05-14T10:00:00.123Z'],
    ['2025-05-14T10:00:00', '2025-05-14T10:00:00.000Z'],
    ['2025-05-14 10:00', '2025-05-14T10:00:00.000Z'],
    ['2025-05-14T10:00:00+02:00', '2025-05-14T08:00:00.000Z'],
    ['2025-05-14T10:00:00.5-0330', '2025-05-14T13:30:00.500Z'],
    ['2025-05-14', '2025-05-14T00:00:00.000Z'],
  ])('reads the timestamp %s as %s', (timestamp, expected) => {
    expect(new Date(parsed({ timestamp }).timestamp).toISOString()).toBe(expected);
  });

  it.each([UUID, UUID.toUpperCase(), UUID.replaceAll('-', ''), `{${UUID}}`, `urn:uuid:${UUID}`])(
    'reads the UUID %s in any form',
    (request_uuid) => {
      expect(parsed({ request_uuid }).request_uuid).toBe(UUID);
    },
  );

  it.each([
    ['bob@example.com', { identifier: 'bob@example.com' }],
    ['  bob ', { identifier: 'bob' }],
    ['💥'.repeat(129), { identifier: '💥'.repeat(128) }],
    [`${'a'.repeat(127)} b`, { identifier: 'a'.repeat(127) }],
    [7, { identifier: '7' }],
    [
      { identifier: 7, name: 'Seven' },
      { identifier: '7', name: 'Seven' },
    ],
    [{ identifier: 'bob' }, { identifier: 'bob' }],
    [{ identifier: 'bob', name: null, group: ' ' }, { identifier: 'bob' }],
    [
      { identifier: 'bob', name: ' Bob ', group: 'g'.repeat(65) },
      { identifier: 'bob', name: 'Bob', group: 'g'.repeat(64) },
    ],
    [
      { identifier: 'bob', name: `${'n'.repeat(63)}  n`, group: `${'g'.repeat(60)}    \u00a0g` },
      { identifier: 'bob', name: 'n'.repeat(63), group: 'g'.repeat(60) },
    ],
  ])('reads the consumer %.40p', (consumer, expected) => {
    expect(parsed({ consumer }).consumer).toEqual(expected);
  });

  it.each([
    ['/users/:id', '/users/:id'],
    ['/a/[id]', '/a/[id]'],
    ['/{id:int}/<b>', '/{id:int}/<b>'],
    ['/users/7', '/users/7'],
    [' ', ' '],
    ['a'.repeat(2000), 'a'.repeat(1024)],
  ])('keeps the path %p as it stands', (path, expected) => {
    expect(parsed({ path })).toMatchObject({ path: expected, is_path_inferred: false });
  });

  it.each([
    [{ path: null }, false],
    [{ path: '' }, false],
    [{}, true],
    [{ path: 7 }, true],
  ])('says of %j whether its path was made from the URL: %p', (members, is_path_inferred) => {
    expect(parsed(members)).toMatchObject({
      is_path_inferred,
      path: is_path_inferred ? '/users/{id}' : null,
    });
  });

  it('completes a URL that is a path alone with the base URL', () => {
    const baseUrl = 'https://api.example.com';
    const parseUrl = (url: string) => parseNdjsonLine(JSON.stringify({ ...LEAST, url }), { baseUrl });
    expect(parseUrl('/a?b')).toMatchObject({ record: { url: 'https://api.example.com/a?b', path: '/a' } });
    expect(parseUrl('http://b.example/a')).toMatchObject({ record: { url: 'http://b.example/a' } });
  });

  it('rounds the response time, and takes integers however JSON writes them', () => {
    expect(parsed({ response_time_ms: 12.5 }).response_time_ms).toBe(13);
    const line = '{"attributes":0,"response_time_ms":0.12345678901234567890,"request_size_bytes":7.0';
    const rest = `,"timestamp":"2025-05-14","method":"get","url":"/","status_code":2e2}`;
    const expected = { response_time_ms: 0, request_size_bytes: 7, method: 'GET', status_code: 200 };
    expect(parseRecord(line + rest)).toMatchObject(expected);
  });

  it.each(['203.0.113.7', '203.0.113.7:443', '[2001:db8::7]:443'])('reads the address %s', (client_ip) => {
    const address = client_ip.startsWith('[') ? '2001:db8::7' : '203.0.113.7';
    expect(accepted({ client_ip })).toMatchObject({ record: { client_ip: address }, ignored: [] });
  });

  it('finds the country of the address, unless the line names one', () => {
    expect(parsed({ client_ip: '8.8.8.8' }).client_country_iso_code).toBe('US');
    const named = { client_ip: '8.8.8.8', client_country_iso_code: 'de' };
    expect(parsed(named).client_country_iso_code).toBe('DE');
    expect(parsed({ client_ip: '10.0.0.1' })).toMatchObject({
      client_ip: '10.0.0.1',
      client_country_iso_code: null,
    });
  });

  it.each([
    [true, { path: '/healthz' }],
    [true, { path: null, url: 'https://api.example.com/ping?x' }],
    [true, { url: '/favicon.ico' }],
    [true, { user_agent: 'kube-probe/1.31' }],
    [true, { request_headers: [['User-Agent', 'GoogleHC/1.0']] }],
    [false, { user_agent: 'curl/8', request_headers: [['user-agent', 'GoogleHC/1.0']] }],
    [false, { path: '/{slug}', url: '/ping' }],
  ])('excludes it from the logs: %p for %j', (excluded_from_logs, members) => {
    expect(parsed(members).excluded_from_logs).toBe(excluded_from_logs);
  });

  it('replaces NUL and lone surrogates in every text', () => {
    const text = 'a\0b\uD83D';
    const consumer = { identifier: text, name: text, group: text };
    const record = parsed({ url: text, path: text, consumer, request_headers: [[text, text]] });
    const kept = 'a\uFFFDb\uFFFD';
    expect(record).toMatchObject({ url: kept, path: kept });
    expect(record.consumer).toEqual({ identifier: kept, name: kept, group: kept });
    expect(JSON.parse(record.captured_json).request_headers).toEqual([[kept, kept]]);
  });

  it('ignores members that it does not know', () => {
    expect(parsed({ id: 7, __proto__: { env: 'x' }, toString: 1, constructor: {} })).toEqual(parsed({}));
    const line = JSON.stringify(LEAST).replace('{', '{"__proto__":{"env":"x"},');
    expect(parseRecord(line)).toEqual(parsed({}));
  });
});

function span(members: object) {
  return { span_id: 'a', name: 'b', start_time_ns: 1, end_time_ns: 2, ...members };
}
