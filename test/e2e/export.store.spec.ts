import { randomUUID } from 'node:crypto';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { TestApp } from '../setup/app.js';
import { readArrow } from '../setup/arrow.js';
import { queryCsv, queryParquet, readParquet } from '../setup/duckdb.js';
import { postFor } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

const ALL = [
  'timestamp',
  'request_uuid',
  'trace_id',
  'env',
  'method',
  'path',
  'url',
  'consumer_id',
  'request_headers',
  'request_size_bytes',
  'request_body_json',
  'status_code',
  'response_time_ms',
  'response_headers',
  'response_size_bytes',
  'response_body_json',
  'client_ip',
  'client_country_iso_code',
  'exception_type',
  'exception_message',
  'exception_stacktrace',
  'sentry_event_id',
];
/** As the public command-line client makes it. */
const CLIENT_TABLE = `CREATE TABLE request_logs (
  app_id INTEGER NOT NULL, timestamp TIMESTAMPTZ NOT NULL, request_uuid VARCHAR NOT NULL, trace_id VARCHAR, env VARCHAR,
  method VARCHAR NOT NULL, path VARCHAR, url VARCHAR NOT NULL, consumer_id INTEGER,
  request_headers STRUCT("1" VARCHAR, "2" VARCHAR)[], request_size_bytes BIGINT, request_body_json JSON,
  status_code INTEGER, response_time_ms INTEGER, response_headers STRUCT("1" VARCHAR, "2" VARCHAR)[],
  response_size_bytes BIGINT, response_body_json JSON, client_ip VARCHAR, client_country_iso_code VARCHAR,
  exception_type VARCHAR, exception_message VARCHAR, exception_stacktrace VARCHAR, sentry_event_id VARCHAR,
  PRIMARY KEY (app_id, request_uuid))`;

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CAPTURE = toCaptureJson({
  ...EMPTY_CAPTURE,
  request_headers: [
    ['Accept', '*/*'],
    ['X-Tag', 'a "b"'],
    ['x-tag', 'ß'],
  ],
  response_headers: [['content-type', 'application/json']],
  request_body_json: '{"n":1.0,\r\n"t":"株"}',
  response_body_json: 'a "b"',
  trace_id: TRACE,
  exception: {
    type: 'TypeError',
    message: 'it\'s "broken"',
    stacktrace: 'a\n  b',
    tracker_event_id: 'c0ffee',
  },
});

/** The first page has 1,000 rows, the second one all others. */
const SEVERAL_PAGES = 1_300;

const iso = (epochMs: number) => new Date(epochMs).toISOString();

interface Fault {
  type: string;
  loc: (string | number)[];
  msg: string;
}

describe('POST /v1/apps/{app_id}/request-logs', () => {
  let app: TestApp;
  let tenant: Tenant;
  const start = Math.floor(Date.now() / DAY) * DAY - 3 * DAY;
  const window = { since: iso(start), until: iso(start + DAY) };

  beforeAll(async () => {
    app = await TestApp.start();
  });

  beforeEach(async () => {
    tenant = await Tenant.create(app);
  });

  afterAll(() => app.stop());

  const readRows = async (body: object) => {
    const response = await tenant.post('request-logs', { ...window, ...body });
    expect([response.status, response.text]).toEqual([200, response.text]);
    const lines = response.text.split('\n');
    expect(lines.pop()).toBe('');
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const readUuids = async (body: object) => (await readRows(body)).map((row) => row.request_uuid as string);
  /** Ties are in the store's order of UUIDs, which Get Request Logs shows as well, from the other end. */
  const uuidsOfPages = async () => {
    const logs = await tenant.readAllPages<{ request_uuid: string }>(
      'request-logs',
      { start: window.since, end: window.until },
      () => 1000,
    );
    return logs.map((log) => log.request_uuid).reverse();
  };
  /** Requests of the window's first hour, several in a millisecond. */
  const many = (count: number, overrides: (index: number) => Partial<RequestRecord> = () => ({})) =>
    tenant.write(
      ...Array.from({ length: count }, (_, index) => ({
        timestamp: start + Math.floor(index / 3),
        ...overrides(index),
      })),
    );

  describe('rows', () => {
    it('have a request only once if the store has copies of it', async () => {
      await tenant.write({ timestamp: start }, { timestamp: start + 1 });
      const copy = 'INSERT INTO request_logs_v1 SELECT * FROM request_logs_v1 WHERE app_id = {app_id:UInt32}';
      await app.store.command(copy, { app_id: tenant.appId });
      expect(await readRows({ fields: ['method'] })).toHaveLength(2);
    });

    it('are chosen by names of headers in any case', async () => {
      await tenant.write({ timestamp: start, captured_json: CAPTURE }, { timestamp: start + 1 });
      const filters = [{ field: 'request_headers', key: 'X-TAG', op: 'exists' }];
      expect(await readRows({ fields: ['url'], filters })).toHaveLength(1);
    });

    it('are chosen by methods in any case', async () => {
      await tenant.write({ timestamp: start, method: 'GET' }, { timestamp: start + 1, method: 'POST' });
      const filters = [{ field: 'method', op: 'eq', value: 'post' }];
      expect(await readRows({ fields: ['method'], filters })).toMatchObject([{ method: 'POST' }]);
    });

    it.each([
      ['like', ['/a']],
      ['ilike', ['/a', '/A']],
    ])('match patterns of %s, in which a backslash escapes any character', async (op, paths) => {
      await tenant.write(...['/a', '/A', '/\\a'].map((path, index) => ({ path, timestamp: start + index })));
      const filters = [{ field: 'path', op, value: '/\\a' }];
      expect((await readRows({ fields: ['path'], filters })).map(({ path }) => path)).toEqual(paths);
    });

    it('have the members in their order, in any order of the request', async () => {
      const [full, bare] = await tenant.write(
        {
          timestamp: start,
          consumer: { identifier: 'bob' },
          captured_json: CAPTURE,
          response_time_ms: 2 ** 32 - 1,
        },
        {
          timestamp: start + 1,
          path: null,
          client_ip: null,
          client_country_iso_code: null,
          request_size_bytes: null,
          response_size_bytes: null,
        },
      );
      const { text, headers } = await tenant.post('request-logs', {
        ...window,
        fields: ['consumer', ...ALL].reverse(),
      });
      const consumerId = await tenant.consumerId('bob');
      expect(headers['content-type']).toBe('application/x-ndjson');
      expect(text).toBe(
        `{"timestamp":"${iso(start)}","request_uuid":"${full!.request_uuid}","trace_id":"${TRACE}","env":"prod",` +
          `"method":"GET","path":"/users/{id}","url":"${full!.url}","consumer_id":${consumerId},"consumer":"bob",` +
          '"request_headers":[["Accept","*/*"],["X-Tag","a \\"b\\""],["x-tag","ß"]],"request_size_bytes":0,' +
          '"request_body_json":"{\\"n\\":1.0,\\r\\n\\"t\\":\\"株\\"}","status_code":200,"response_time_ms":4294967295,' +
          '"response_headers":[["content-type","application/json"]],"response_size_bytes":100,' +
          `"response_body_json":${JSON.stringify('"a \\"b\\""')},` +
          '"client_ip":"203.0.113.7","client_country_iso_code":"DE","exception_type":"TypeError",' +
          '"exception_message":"it\'s \\"broken\\"","exception_stacktrace":"a\\n  b","sentry_event_id":"c0ffee"}\n' +
          `{"timestamp":"${iso(start + 1)}","request_uuid":"${bare!.request_uuid}","trace_id":null,"env":"prod",` +
          `"method":"GET","path":null,"url":"${bare!.url}","consumer_id":null,"consumer":null,"request_headers":[],` +
          '"request_size_bytes":null,"request_body_json":null,"status_code":200,"response_time_ms":12,' +
          '"response_headers":[],"response_size_bytes":null,"response_body_json":null,"client_ip":null,' +
          '"client_country_iso_code":null,"exception_type":null,"exception_message":null,' +
          '"exception_stacktrace":null,"sentry_event_id":null}\n',
      );
    });

    it.each(['18446744073709551616', '-9223372036854775809', '1'.repeat(30), '1e400'])(
      'have all that was captured beside %s in an attribute of a span',
      async (number) => {
        const attributes = `{"n":${number}}`;
        const [request] = await tenant.write({
          timestamp: start,
          captured_json: CAPTURE.replace(
            '"spans":[]',
            `"spans":[{"span_id":"0000000000000004","parent_span_id":null,"name":"s","kind":"SERVER","start_time_ns":1,` +
              `"end_time_ns":2,"duration_ns":1,"status":"UNSET","attributes":${attributes}}]`,
          ),
        });
        const row = {
          request_headers: expect.arrayContaining([['Accept', '*/*']]),
          request_body_json: '{"n":1.0,\r\n"t":"株"}',
          exception_type: 'TypeError',
          exception_message: 'it\'s "broken"',
        };
        for (const filter of [
          { field: 'exception_type', op: 'eq', value: 'TypeError' },
          { field: 'request_headers', key: 'accept', op: 'exists' },
        ])
          expect(await readRows({ fields: Object.keys(row), filters: [filter] })).toMatchObject([row]);
        const { text } = await tenant.get(`request-logs/${request!.request_uuid}`);
        expect(text).toContain(attributes);
      },
    );

    it('have the default fields where none are asked for, and those of every row besides', async () => {
      await tenant.write({ timestamp: start });
      const names = async (fields?: string[]) => Object.keys((await readRows({ fields }))[0]!);
      const always = ['timestamp', 'request_uuid', 'trace_id', 'method', 'url'];
      expect(await names([])).toEqual(always);
      expect(await names(['request_body', 'env', 'env'])).toEqual([
        'timestamp',
        'request_uuid',
        'trace_id',
        'env',
        'method',
        'url',
        'request_body_json',
      ]);
      expect(await names()).toEqual(ALL.filter((name) => !/headers|body|exception|sentry/.test(name)));
    });

    it('come oldest first, each once, in several pages, under both paths', async () => {
      const records = await many(SEVERAL_PAGES);
      await tenant.write(...records.slice(900, 1_200));
      const uuids = await readUuids({});
      expect(uuids).toEqual(await uuidsOfPages());
      expect(uuids).toHaveLength(SEVERAL_PAGES);
      const stream = await tenant.post('request-logs/stream', { ...window });
      expect(stream.text.split('\n')).toHaveLength(SEVERAL_PAGES + 1);
    });

    it('are none of excluded endpoints, of noise, of other times and other apps', async () => {
      const [shown] = await tenant.write(
        { timestamp: start },
        { timestamp: start, path: '/hidden' },
        { timestamp: start, excluded_from_logs: true },
        { timestamp: start - 1 },
        { timestamp: start + DAY },
      );
      await tenant.exclude('GET', '/hidden');
      await (await tenant.sibling()).write({ timestamp: start });
      expect(await readUuids({})).toEqual([shown!.request_uuid]);
    });

    it('are none older than the retention, in a window that begins before it', async () => {
      const now = Date.now();
      const [kept] = await tenant.write(
        { timestamp: now - 15 * DAY + HOUR },
        { timestamp: now - 15 * DAY - HOUR },
      );
      expect(await readUuids({ since: '1970-01-01', until: undefined })).toEqual([kept!.request_uuid]);
    });
  });

  describe('formats', () => {
    const body = { ...window, fields: ALL };
    const file = async (format: string, more: object = {}) =>
      (await tenant.post('request-logs', { ...body, format, ...more }).responseType('blob')).body as Buffer;

    it.each(['csv', 'arrow', 'parquet'])(
      'have the consumers by their names, by choice, as %s',
      async (format) => {
        await tenant.write({ timestamp: start, consumer: { identifier: 'bob' } }, { timestamp: start + 1 });
        const named = await file(format, { fields: ['consumer'] });
        const query = 'SELECT consumer FROM rows';
        const rows =
          format === 'csv'
            ? await queryCsv(named, query)
            : format === 'parquet'
              ? await queryParquet(named, [query])
              : readArrow(named).rows.map((row) => [row.at(-1)]);
        expect(rows).toEqual([['bob'], [null]]);
      },
    );

    it('have the same rows, joined of several pages', async () => {
      await many(SEVERAL_PAGES, (index) => ({
        captured_json: index % 3 === 0 ? CAPTURE : '',
        path: index % 5 === 0 ? null : `/p/${index % 7}`,
        url: `https://x/${index},"\r\n${index}"\r\n"2`,
      }));
      const expected = await readRows({ fields: ALL });
      expect(expected).toHaveLength(SEVERAL_PAGES);
      const lists = (value: unknown) =>
        Array.isArray(value) ? value.map(([k, v]) => ({ '1': k, '2': v })) : value;
      const plain = expected.map((row) => ALL.map((name) => lists(row[name])));

      const arrow = readArrow(await file('arrow'));
      const fromArrow = arrow.rows.map((row) =>
        row.map((value, column) =>
          ALL[column] === 'timestamp'
            ? iso(Number(value))
            : (JSON.parse(JSON.stringify(value, numbers)) as unknown),
        ),
      );
      expect(fromArrow).toEqual(plain);

      const times = (rows: unknown[][]) =>
        rows.map(([at, ...rest]) => [iso(Number(at)), ...rest.map(number)]);
      const values = `SELECT epoch_ms(timestamp), * EXCLUDE (timestamp) FROM rows`;
      expect(times(await queryParquet(await file('parquet'), [values]))).toEqual(plain);

      const csv = await queryCsv(await file('csv'), `SELECT * FROM rows`);
      const texts = expected.map((row) =>
        ALL.map((name) => {
          const value = row[name];
          return value === null ? null : typeof value === 'string' ? value : JSON.stringify(value);
        }),
      );
      expect(csv).toEqual(texts);
      const first = await file('csv', { limit: 1_150 });
      expect(await queryCsv(first, `SELECT * FROM rows`)).toEqual(texts.slice(0, 1_150));
    });

    const numbers = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
    const number = (value: unknown) =>
      typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;

    it('have the types of the public client as arrow, whose table takes them by name', async () => {
      await tenant.write(
        { timestamp: start, captured_json: CAPTURE },
        { timestamp: start + 1, response_time_ms: 2 ** 32 - 1 },
      );
      const { fields } = readArrow(await file('arrow'));
      const list = (name: string) => `${name} List<Struct<{1:Utf8, 2:Utf8}>> not null`;
      expect(fields).toEqual([
        'timestamp Timestamp<MILLISECOND, UTC> not null',
        'request_uuid Utf8 not null',
        'trace_id Utf8',
        'env Utf8 not null',
        'method Utf8 not null',
        'path Utf8',
        'url Utf8 not null',
        'consumer_id Int64',
        list('request_headers'),
        'request_size_bytes Int64',
        'request_body_json Utf8',
        'status_code Int32 not null',
        'response_time_ms Int32 not null',
        list('response_headers'),
        'response_size_bytes Int64',
        'response_body_json Utf8',
        'client_ip Utf8',
        'client_country_iso_code Utf8',
        'exception_type Utf8',
        'exception_message Utf8',
        'exception_stacktrace Utf8',
        'sentry_event_id Utf8',
      ]);
      expect(
        await queryParquet(await file('parquet'), [
          CLIENT_TABLE,
          'INSERT INTO request_logs BY NAME SELECT 7 AS app_id, * FROM rows',
          'SELECT count(), count(trace_id), max(request_headers)[2]."2", max(response_time_ms) FROM request_logs',
        ]),
      ).toEqual([['2', '1', 'a "b"', 2 ** 31 - 1]]);
    });

    it('have a form without rows', async () => {
      expect(await readRows({})).toEqual([]);
      expect((await file('csv')).toString()).toBe(`${ALL.join()}\r\n`);
      const { fields, rows } = readArrow(await file('arrow'));
      expect([fields.length, rows]).toEqual([ALL.length, []]);
      const { columns, rows: none } = await readParquet(await file('parquet'));
      expect([columns.length, none]).toEqual([ALL.length, []]);
    });

    it('can be chosen by the Accept header', async () => {
      const { headers } = await tenant.post('request-logs', window).set('Accept', 'text/csv');
      expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    });

    it('have no text that a spreadsheet takes for a formula, as csv_spreadsheet', async () => {
      const formula = '=HYPERLINK("http://evil.example/","x")';
      await tenant.write({
        timestamp: start,
        url: '/a',
        captured_json: toCaptureJson({
          ...EMPTY_CAPTURE,
          exception: { type: 'Error', message: formula, stacktrace: '', tracker_event_id: null },
        }),
      });
      const fields = ['exception_message'];
      const csv = (await file('csv', { fields })).toString();
      expect(csv).toContain(`,"=HYPERLINK(""`);
      const { text, headers } = await tenant.post('request-logs', {
        ...window,
        fields,
        format: 'csv_spreadsheet',
      });
      expect(headers['content-type']).toBe('text/csv; charset=utf-8');
      expect(text).toBe(csv.replace(',"=', `,"'=`));
    });

    it('say behind the last chunk how many rows there were, to a client that takes trailers', async () => {
      await many(SEVERAL_PAGES);
      for (const format of ['ndjson', 'csv', 'csv_spreadsheet', 'arrow', 'parquet', 'har']) {
        const { trailers } = await postFor(app.url, `/v1/apps/${tenant.appId}/request-logs`, {
          headers: { 'Api-Key': tenant.key, TE: 'trailers' },
          body: { ...window, format },
        });
        expect([format, trailers]).toEqual([
          format,
          { 'x-row-count': String(SEVERAL_PAGES), 'x-complete': 'true' },
        ]);
      }
    });
  });

  it.each([
    [
      'statuses',
      12,
      { field: 'status_code', op: 'in', value: Array.from({ length: 1_000 }, (_, n) => n + 100) },
    ],
    [
      'characters that are escaped',
      1,
      { field: 'path', op: 'in', value: ['/', ...Array(15).fill("'".repeat(4_000))] },
    ],
    ['numbers', 11, { field: 'status_code', op: 'in', value: [200, ...Array(999).fill('n')] }],
  ])('has filters as many and as long as a body allows: %s', async (_, count, filter) => {
    const [row] = await tenant.write({
      timestamp: start,
      path: '/',
      status_code: 200,
      captured_json: CAPTURE,
    });
    const filters = Array.from({ length: count }, () => filter);
    const body = JSON.stringify({ ...window, fields: ['request_headers'], filters }).replaceAll(
      '"n"',
      '1e99',
    );
    const { status, text } = await tenant.post('request-logs', body);
    expect([status, JSON.parse(text)]).toMatchObject([200, { request_uuid: row!.request_uuid }]);
  });

  describe('parts', () => {
    let sharedTenant: Tenant;

    beforeAll(async () => {
      sharedTenant = tenant = await Tenant.create(app);
      await many(SEVERAL_PAGES);
    });
    beforeEach(() => {
      tenant = sharedTenant;
    });

    it('has the first rows with a limit', async () => {
      const all = await readUuids({});
      for (const limit of [1, 999, 1_000, 1_001, 1_250, 9_000])
        expect(await readUuids({ limit })).toEqual(all.slice(0, limit));
      const filters = [{ field: 'response_time_ms', op: 'gte', value: 0 }];
      expect(await readUuids({ limit: 1_100, filters })).toEqual(all.slice(0, 1_100));
    });

    it('continues behind any row without a gap or a double', async () => {
      const all = await readRows({});
      for (const index of [0, 1, 2, 500, 998, 999, 1_000, 1_298, 1_299]) {
        const { timestamp, request_uuid } = all[index]!;
        expect(await readRows({ after: { timestamp, request_uuid } })).toEqual(all.slice(index + 1));
      }
    });

    it('has the same rows of a sample each time, about as many as its share comes to', async () => {
      const all = await readUuids({});
      const half = await readUuids({ sample: 0.5 });
      expect(half.length).toBeGreaterThan(0.4 * SEVERAL_PAGES);
      expect(half.length).toBeLessThan(0.6 * SEVERAL_PAGES);
      expect(await readUuids({ sample: 0.5 })).toEqual(half);
      expect(all.filter((uuid) => half.includes(uuid))).toEqual(half);
      const tenth = await readUuids({ sample: 0.1 });
      expect(tenth.every((uuid) => half.includes(uuid))).toBe(true);
      expect(await readUuids({ sample: 0.5, limit: 100 })).toEqual(half.slice(0, 100));

      const some = await readUuids({ sample: 300 });
      expect(some.length).toBeGreaterThan(200);
      expect(some.length).toBeLessThan(400);
      expect(await readUuids({ sample: SEVERAL_PAGES })).toEqual(all);
      const filters = [{ field: 'url', op: 'like', value: '%' }];
      expect(await readUuids({ sample: 300, filters })).toEqual(some);
    });
  });

  describe('422', () => {
    const readFaults = async (body: unknown) => {
      const { status, text } = await tenant.post('request-logs', body);
      expect([status, text]).toEqual([422, text]);
      return (JSON.parse(text) as { detail: Fault[] }).detail;
    };
    const filter = (more: object) => ({
      filters: [{ field: 'request_headers', op: 'eq', value: 'x', ...more }],
    });

    it.each<[object, (string | number)[], string]>([
      [{ since: undefined }, ['since'], 'missing'],
      [{ since: window.until, until: window.since }, ['since'], 'value_error'],
      [{ format: 'xml' }, ['format'], 'literal_error'],
      [{ fields: ['client'] }, ['fields', 0], 'literal_error'],
      [{ sample: 0 }, ['sample'], 'greater_than_equal'],
      [{ sample: 0.51 }, ['sample'], 'less_than_equal'],
      [{ sample: -0.1 }, ['sample'], 'greater_than'],
      [{ sample: '1' }, ['sample'], 'float_type'],
      [{ limit: 0 }, ['limit'], 'greater_than_equal'],
      [{ after: [] }, ['after'], 'model_attributes_type'],
      [{ after: { timestamp: window.since } }, ['after', 'request_uuid'], 'missing'],
      [
        { after: { timestamp: 'x', request_uuid: randomUUID() } },
        ['after', 'timestamp'],
        'datetime_from_date_parsing',
      ],
      [{ after: { timestamp: window.since, request_uuid: 'x' } }, ['after', 'request_uuid'], 'uuid_parsing'],
      [filter({}), ['filters', 0, 'key'], 'value_error'],
      [filter({ key: '' }), ['filters', 0, 'key'], 'value_error'],
      [filter({ key: 7 }), ['filters', 0, 'key'], 'value_error'],
      [filter({ key: 'a', op: 'gt' }), ['filters', 0, 'op'], 'value_error'],
      [filter({ field: 'url', key: 'a' }), ['filters', 0, 'key'], 'value_error'],
      [filter({ field: 'request_uuid' }), ['filters', 0, 'value'], 'value_error'],
      [filter({ field: 'trace_id' }), ['filters', 0, 'value'], 'value_error'],
      [filter({ field: 'timestamp' }), ['filters', 0, 'value'], 'value_error'],
      [filter({ field: 'sentry_event_id', op: 'like' }), ['filters', 0, 'op'], 'value_error'],
      [filter({ field: 'response_time_ms', op: 'is_null' }), ['filters', 0, 'op'], 'value_error'],
      // The store has no such text, but would find U+FFFD.
      [filter({ key: '\uD800' }), ['filters', 0, 'key'], 'string_unicode'],
      [filter({ key: 'a', op: 'in', value: ['\uDC00\uD800'] }), ['filters', 0, 'value', 0], 'string_unicode'],
    ])('for %j', async (change, loc, type) => {
      const [fault, ...others] = await readFaults({ ...window, ...change });
      expect([fault!.type, fault!.loc, others]).toEqual([type, ['body', ...loc], []]);
    });

    it('for a whole share, as which JSON writes 1.0', async () => {
      const [fault] = await readFaults(`{"since":"${window.since}","sample":1.0}`);
      expect(fault).toMatchObject({ type: 'less_than_equal', loc: ['body', 'sample'] });
    });
  });

  it("is 404 for another team's app, 405 for what is neither GET nor POST", async () => {
    const stranger = await Tenant.create(app);
    const { status } = await app.post(`/v1/apps/${stranger.appId}/request-logs`, tenant.key, window);
    expect(status).toBe(404);
    const put = await fetch(`${app.url}/v1/apps/${tenant.appId}/request-logs`, {
      method: 'PUT',
      headers: { 'Api-Key': tenant.key },
    });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  });
});
