import { parseNdjsonLine } from './ndjson.parser.js';
import type { ParsedRequest } from './parsed-request.js';

const LEAST = {
  timestamp: '2025-05-14T10:00:00.123Z',
  method: 'GET',
  url: 'https://api.example.com/users/7?x=1',
  status_code: 200,
};
const UUID = '63d524d0-e69c-47aa-818c-ab3ada75b277';

function recordOf(line: string, shiftMs?: number): ParsedRequest {
  const result = parseNdjsonLine(line, shiftMs);
  if (!('record' in result)) throw new Error(result.reason);
  return result.record;
}
const parsed = (members: object, shiftMs?: number) =>
  recordOf(JSON.stringify({ ...LEAST, ...members }), shiftMs);
const reasonFor = (members: object) => parseNdjsonLine(JSON.stringify({ ...LEAST, ...members }));

describe('parseNdjsonLine', () => {
  it('needs only timestamp, method, url and status_code', () => {
    expect(parsed({})).toEqual({
      request_uuid: null,
      timestamp: Date.UTC(2025, 4, 14, 10, 0, 0, 123),
      env: null,
      consumer: null,
      method: 'GET',
      path: '/users/{id}',
      url: 'https://api.example.com/users/7?x=1',
      status_code: 200,
      request_size_bytes: null,
      response_size_bytes: null,
      response_time_ms: 0,
      client_ip: null,
      client_country_iso_code: null,
      is_noise: false,
      capture: '',
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
      expect(reasonFor({ [name]: value })).toEqual({ reason: expect.stringMatching(`^${name}: must be `) });
  });

  it.each([
    ['', 'line: must be valid JSON'],
    ['{', 'line: must be valid JSON'],
    ['{"timestamp":NaN}', 'line: must be valid JSON'],
    ['{"attributes":1', 'line: must be valid JSON'],
    ['null', 'line: must be an object'],
    ['1', 'line: must be an object'],
    ['12345678901234567890', 'line: must be an object'],
    ['"a"', 'line: must be an object'],
    ['[{}]', 'line: must be an object'],
    [`{"attributes":${'['.repeat(100_000)}`, 'line: nested too deeply'],
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
    ['method', 'GE T', 'must be 1 to 16 letters, hyphens or underscores'],
    ['url', '', 'must have 1 to 65536 characters'],
    ['url', 'a'.repeat(65_537), 'must have 1 to 65536 characters'],
    ['status_code', '200', 'must be an integer from 100 to 599'],
    ['status_code', 200.5, 'must be an integer from 100 to 599'],
    ['status_code', 99, 'must be an integer from 100 to 599'],
    ['status_code', 600, 'must be an integer from 100 to 599'],
    ['status_code', true, 'must be an integer from 100 to 599'],
    ['request_uuid', 'x', 'must be a UUID'],
    ['request_uuid', 7, 'must be a string'],
    ['env', '', 'must be 1 to 32 letters, digits, hyphens or underscores'],
    ['env', 'pre prod', 'must be 1 to 32 letters, digits, hyphens or underscores'],
    ['env', 'a'.repeat(33), 'must be 1 to 32 letters, digits, hyphens or underscores'],
    ['consumer', '', 'must not be empty'],
    ['consumer', ' \t', 'must not be empty'],
    ['consumer', 7, 'must be an object'],
    ['consumer', ['a'], 'must be an object'],
    ['path', 7, 'must be a string'],
    ['request_size_bytes', -1, 'must be an integer from 0 to 9007199254740991'],
    ['request_size_bytes', 2 ** 53, 'must be an integer from 0 to 9007199254740991'],
    ['response_size_bytes', 1.5, 'must be an integer from 0 to 9007199254740991'],
    ['response_time_ms', -1, 'must be a number from 0 to 4294967295'],
    ['response_time_ms', '12', 'must be a number from 0 to 4294967295'],
    ['response_time_ms', 2 ** 32, 'must be a number from 0 to 4294967295'],
    ['client_ip', 'client.example.com', 'must be an IPv4 or IPv6 address'],
    ['client_ip', '203.0.113.7:443', 'must be an IPv4 or IPv6 address'],
    ['client_country_iso_code', 'DEU', 'must be two letters'],
    ['user_agent', 7, 'must be a string'],
    ['request_headers', { accept: '*/*' }, 'must be an array'],
    ['response_headers', 'accept: */*', 'must be an array'],
    ['request_body_json', { a: 1 }, 'must be a string'],
    ['response_body_json', ['a'], 'must be a string'],
    ['trace_id', '4BF92F3577B34DA6A3CE929D0E0E4736', 'must be 32 lower-case hex digits'],
    ['trace_id', '4bf9', 'must be 32 lower-case hex digits'],
    ['exception', 'TypeError', 'must be an object'],
    ['logs', {}, 'must be an array'],
    ['spans', {}, 'must be an array'],
  ])('rejects %s %.20p', (name, value, rule) => {
    expect(reasonFor({ [name]: value })).toEqual({ reason: `${name}: ${rule}` });
  });

  it.each([
    ['consumer.identifier', { consumer: {} }, 'must be a string'],
    ['consumer.identifier', { consumer: { identifier: ' ' } }, 'must not be empty'],
    ['consumer.group', { consumer: { identifier: 'a', group: { id: 1, name: 'b' } } }, 'must be a string'],
    ['request_headers[1]', { request_headers: [['a', 'b'], ['c']] }, 'must be a pair of name and value'],
    ['request_headers[0][1]', { request_headers: [['a', 1]] }, 'must be a string'],
    ['exception.type', { exception: { message: 'a' } }, 'must be a string'],
    ['logs[0]', { logs: ['a'] }, 'must be an object'],
    ['logs[0].level', { logs: [{ timestamp: LEAST.timestamp, message: 'a' }] }, 'must be a string'],
    [
      'logs[0].timestamp',
      { logs: [{ timestamp: 1 }] },
      'must be an ISO 8601 date and time from 1970 to 2099',
    ],
    ['spans[0]', { spans: [null] }, 'must be an object'],
    ['spans[0].start_time_ns', { spans: [{}] }, 'must be an integer from 0 to 9223372036854775807'],
    ['spans[1].attributes', { spans: [span({}), span({ attributes: [1] })] }, 'must be an object'],
  ])('names the member that is wrong inside: %s', (name, members, rule) => {
    expect(reasonFor(members)).toEqual({ reason: `${name}: ${rule}` });
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
    [{ identifier: 'bob' }, { identifier: 'bob' }],
    [{ identifier: 'bob', name: null, group: ' ' }, { identifier: 'bob' }],
    [
      { identifier: 'bob', name: ' Bob ', group: 'g'.repeat(65) },
      { identifier: 'bob', name: 'Bob', group: 'g'.repeat(64) },
    ],
  ])('reads the consumer %.40p', (consumer, expected) => {
    expect(parsed({ consumer }).consumer).toEqual(expected);
  });

  it.each([
    ['/users/:id', '/users/{id}'],
    ['/users/{user_id}', '/users/{user_id}'],
    ['/users/7', '/users/7'],
    ['a'.repeat(2000), 'a'.repeat(1024)],
  ])('writes the path %.20p in braces', (path, expected) => {
    expect(parsed({ path }).path).toBe(expected);
  });

  it('rounds the response time, and takes integers however JSON writes them', () => {
    expect(parsed({ response_time_ms: 12.5 }).response_time_ms).toBe(13);
    const line = '{"attributes":0,"response_time_ms":0.12345678901234567890,"request_size_bytes":7.0';
    const rest = `,"timestamp":"2025-05-14","method":"get","url":"/","status_code":2e2}`;
    const expected = { response_time_ms: 0, request_size_bytes: 7, method: 'GET', status_code: 200 };
    expect(recordOf(line + rest)).toMatchObject(expected);
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
  ])('says that it is noise: %p for %j', (is_noise, members) => {
    expect(parsed(members).is_noise).toBe(is_noise);
  });

  it('replaces NUL and lone surrogates in every text', () => {
    const text = 'a\0b\uD83D';
    const consumer = { identifier: text, name: text, group: text };
    const record = parsed({ url: text, path: text, consumer, request_headers: [[text, text]] });
    const kept = 'a\uFFFDb\uFFFD';
    expect(record).toMatchObject({ url: kept, path: kept });
    expect(record.consumer).toEqual({ identifier: kept, name: kept, group: kept });
    expect(JSON.parse(record.capture).request_headers).toEqual([[kept, kept]]);
  });

  it('ignores members that it does not know', () => {
    expect(parsed({ id: 7, __proto__: { env: 'x' }, toString: 1, constructor: {} })).toEqual(parsed({}));
    const line = JSON.stringify(LEAST).replace('{', '{"__proto__":{"env":"x"},');
    expect(recordOf(line)).toEqual(parsed({}));
  });
});

function span(members: object) {
  return { span_id: 'a', name: 'b', start_time_ns: 1, end_time_ns: 2, ...members };
}
