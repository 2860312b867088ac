import fc from 'fast-check';
import { EMPTY_CAPTURE, type Header, toCaptureJson } from '../../src/records/capture.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { TestApp } from '../setup/app.js';
import { type HarEntry, readHar } from '../setup/har.js';
import { postFor } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';

const DAY = 86_400_000;
const start = Math.floor(Date.now() / DAY) * DAY - 3 * DAY;
const iso = (epochMs: number) => new Date(epochMs).toISOString();
const window = { since: iso(start), until: iso(start + DAY) };
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

/** A row of NDJSON with all fields. */
interface Row {
  timestamp: string;
  request_uuid: string;
  trace_id: string | null;
  method: string;
  url: string;
  consumer: string | null;
  request_headers: Header[];
  request_size_bytes: number | null;
  request_body_json: string | null;
  status_code: number;
  response_time_ms: number;
  response_headers: Header[];
  response_size_bytes: number | null;
  response_body_json: string | null;
}

const FIELDS = [
  'consumer',
  'request_headers',
  'request_size_bytes',
  'request_body_json',
  'status_code',
  'response_time_ms',
  'response_headers',
  'response_size_bytes',
  'response_body_json',
];

const pairs = (list: Iterable<readonly [string, string]>) =>
  [...list].map(([name, value]) => ({ name, value }));
const find = (headers: readonly Header[], wanted: string) =>
  headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);

function splitCookies(texts: readonly string[]) {
  const cookies = texts.map((text) => /^([^=]*)=([^]*)$/.exec(text)).filter((found) => found !== null);
  return pairs(cookies.map(([, name = '', value = '']) => [name.replace(/^ +| +$/g, ''), value] as const));
}

function describeBody(headers: readonly Header[], json: string | null) {
  const [type = ''] = find(headers, 'content-type');
  if (json === null) return { mimeType: type };
  const isText = json.startsWith('"') && !/json/i.test(type);
  return {
    mimeType: type === '' && /^[[{]/.test(json) ? 'application/json' : type,
    text: isText ? (JSON.parse(json) as string) : json,
  };
}

/** The entry of a row, made apart from the statement. */
function toEntry(row: Row): HarEntry {
  const { request_headers, response_headers } = row;
  const [request, response] = [
    describeBody(request_headers, row.request_body_json),
    describeBody(response_headers, row.response_body_json),
  ];
  const { search } = new URL(row.url);
  const size = row.response_size_bytes ?? -1;
  const unknown = { httpVersion: '', headersSize: -1 };
  return {
    startedDateTime: row.timestamp,
    _request_uuid: row.request_uuid,
    time: row.response_time_ms,
    request: {
      ...unknown,
      method: row.method,
      url: row.url,
      cookies: splitCookies(find(request_headers, 'cookie').flatMap((value) => value.split(';'))),
      headers: pairs(request_headers),
      queryString: pairs(new URLSearchParams(search)),
      ...(request.text !== undefined && { postData: { mimeType: request.mimeType, text: request.text } }),
      bodySize: row.request_size_bytes ?? -1,
    },
    response: {
      ...unknown,
      status: row.status_code,
      statusText: '',
      cookies: splitCookies(find(response_headers, 'set-cookie').map((value) => value.split(';')[0] ?? '')),
      headers: pairs(response_headers),
      content: { size, ...response },
      redirectURL: find(response_headers, 'location')[0] ?? '',
      bodySize: size,
    },
    cache: {},
    timings: { send: 0, wait: row.response_time_ms, receive: 0 },
    _consumer: row.consumer,
    _trace_id: row.trace_id,
  } as HarEntry;
}

const text = fc.oneof(
  fc.constantFrom('', 'a', '******', '"q"', 'a=b', '株', '\\', '\r\n', '🚀', '{"n":1.0}', '[1]', ' a ', '%'),
  fc.string({ maxLength: 5 }),
);
const header = fc.tuple(
  fc.constantFrom('Cookie', 'cookie', 'Set-Cookie', 'Content-Type', 'Location', 'x-a', 'Authorization'),
  fc.oneof(
    text,
    fc.constantFrom('a=1; b=2=3;c', 'sid=x; Path=/; HttpOnly', 'application/JSON', 'text/plain'),
  ),
);
const body = fc.option(fc.oneof(text, fc.json({ maxDepth: 1 })), { nil: null });
const query = fc.array(fc.tuple(text, fc.option(text, { nil: undefined })), { maxLength: 3 }).map((members) =>
  members
    .map(([name, value]) =>
      [name, value].flatMap((part) => (part === undefined ? [] : encodeURIComponent(part))),
    )
    .map((parts) => parts.join('='))
    .join('&'),
);
const drawn = fc.record({
  headers: fc.array(header, { maxLength: 3 }),
  answered: fc.array(header, { maxLength: 3 }),
  sent: body,
  returned: body,
  query,
  size: fc.option(fc.integer({ min: 0, max: 2 ** 40 }), { nil: null }),
  consumer: fc.option(fc.constant('bob "b"'), { nil: undefined }),
  isTraced: fc.boolean(),
});

describe('POST /v1/apps/{app_id}/request-logs as HAR', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  beforeEach(async () => {
    tenant = await Tenant.create(app);
  });

  afterAll(() => app.stop());

  const read = async (body: object, key = tenant.key) => {
    const { status, body: bytes } = await app
      .post(`/v1/apps/${tenant.appId}/request-logs`, key, { ...window, format: 'har', ...body })
      .responseType('blob');
    const text = (bytes as Buffer).toString();
    expect([status, text]).toEqual([200, text]);
    return text;
  };

  const write = (count: number, overrides: (index: number) => Partial<RequestRecord> = () => ({})) =>
    tenant.write(
      ...Array.from({ length: count }, (_, index) => ({ timestamp: start + index, ...overrides(index) })),
    );

  it('is HAR 1.2 with all that the rows have, in their order, joined of several pages', async () => {
    const records = fc.sample(drawn, 2_600);
    await write(records.length, (index) => {
      const { headers, answered, sent, returned, query, size, consumer, isTraced } = records[index]!;
      return {
        url: `https://api.example.com/a%20b${query && `?${query}`}${index % 2 ? '#part?x=1' : ''}`,
        request_size_bytes: size,
        response_size_bytes: size,
        ...(consumer !== undefined && { consumer: { identifier: consumer } }),
        captured_json: toCaptureJson({
          ...EMPTY_CAPTURE,
          request_headers: headers,
          response_headers: answered,
          request_body_json: sent,
          response_body_json: returned,
          trace_id: isTraced ? TRACE : null,
        }),
      };
    });
    const { text: lines } = await tenant.post('request-logs', { ...window, fields: FIELDS });
    const rows = lines
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Row);
    expect(rows).toHaveLength(records.length);
    const entries = readHar(await read({}));
    expect(entries).toHaveLength(records.length);
    for (const [index, entry] of entries.entries()) expect(entry).toEqual(toEntry(rows[index]!));
  });

  it('is an archive without entries where no request matches', async () => {
    expect(readHar(await read({}))).toEqual([]);
  });

  it('is continued behind a row, and has as many as asked', async () => {
    await write(5);
    const entries = readHar(await read({}));
    const { startedDateTime: timestamp, _request_uuid: request_uuid } = entries[1]!;
    expect(readHar(await read({ after: { timestamp, request_uuid }, limit: 2 }))).toEqual(
      entries.slice(2, 4),
    );
  });

  it('is no JSON before its last byte but one, wherever it is cut', async () => {
    await write(3);
    const text = await read({});
    for (let length = 0; length < text.length - 1; length += 1)
      expect(() => JSON.parse(text.slice(0, length)) as unknown).toThrow(SyntaxError);
  });

  it('has headers and bodies by choice', async () => {
    const captured_json = toCaptureJson({
      ...EMPTY_CAPTURE,
      request_headers: [['content-type', 'text/plain']],
      request_body_json: 'sent',
      response_headers: [['x-a', '******']],
      response_body_json: '{"card":"******"}',
    });
    await write(1, () => ({ captured_json }));
    const [whole] = readHar(await read({}));
    expect(whole).toMatchObject({
      request: { headers: [{ name: 'content-type' }], postData: { mimeType: 'text/plain', text: 'sent' } },
      response: {
        headers: [{ name: 'x-a', value: '******' }],
        content: { mimeType: 'application/json', text: '{"card":"******"}' },
      },
    });
    const [part] = readHar(await read({ fields: ['path', 'response_headers'] }));
    expect(part!.request).toMatchObject({ headers: [], url: whole!.request.url });
    expect(part!.request).not.toHaveProperty('postData');
    expect(part!.response.headers).toEqual(whole!.response.headers);
    expect(part!.response.content).not.toHaveProperty('text');
  });

  it('has its own media type, is compressed, and says behind the last chunk how many entries it has', async () => {
    await write(1_500);
    const { headers, trailers } = await postFor(app.url, `/v1/apps/${tenant.appId}/request-logs`, {
      headers: { 'Api-Key': tenant.key, TE: 'trailers', 'Accept-Encoding': 'gzip' },
      body: { ...window, format: 'har' },
    });
    expect([headers['content-type'], headers['content-encoding'], trailers]).toEqual([
      'application/x-har',
      'gzip',
      { 'x-row-count': '1500', 'x-complete': 'true' },
    ]);
  });

  it('is a format of no other operation', async () => {
    const { status, text } = await tenant.post('metrics', {
      since: window.since,
      metrics: ['requests'],
      format: 'har',
    });
    expect([status, text]).toEqual([422, expect.stringContaining('"literal_error"')]);
  });
});
