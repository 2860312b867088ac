import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { Random } from '../../src/shared/random.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { readArrow } from '../setup/arrow.js';
import { queryCsv, queryParquet } from '../setup/duckdb.js';
import { Tenant } from '../setup/tenant.js';

const HOUR = 3_600_000;
const QUARTER = HOUR / 4;
const DAY = 24 * HOUR;
const MONTH = 30.5 * DAY;
const REQUESTS = 900;
const RUNS = 80;
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

interface ErrorRow {
  period_start?: string;
  period_end?: string;
  fingerprint: string;
  kind: string;
  type: string;
  message: string | null;
  method: string | null;
  path: string | null;
  env: string;
  consumer_id?: number | null;
  errors: number;
  consumers: number;
  first_seen: string;
  last_seen: string;
  request_uuid: string | null;
  sentry_event_id: string | null;
  trace_id: string | null;
}

const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** Computes each record's value once: the model asks for those of all records in each window. */
function memoize<Value>(compute: (record: RequestRecord) => Value): (record: RequestRecord) => Value {
  const values = new Map<RequestRecord, Value>();
  return (record) => {
    if (!values.has(record)) values.set(record, compute(record));
    return values.get(record) as Value;
  };
}

/** A capture with an exception that a message tells apart from others of its type. */
const capture = (type: string, message = 'boom', event: string | null = null) =>
  toCaptureJson({
    ...EMPTY_CAPTURE,
    trace_id: TRACE_ID,
    exception: { type, message, stacktrace: '', tracker_event_id: event },
  });

let app: TestApp;
let tenant: Tenant;

beforeAll(async () => {
  app = await TestApp.start(WITHOUT_CACHE);
});

afterAll(() => app.stop());

const read = async (body: object, of = tenant): Promise<ErrorRow[]> => {
  const { status, text } = await of.post('errors', body);
  expect([text, status]).toEqual([text, 200]);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ErrorRow);
};

describe('POST /v1/apps/{app_id}/errors', () => {
  let records: RequestRecord[];
  const consumers = new Map<string, number>();
  const start = Math.floor(Date.now() / HOUR) * HOUR - 3 * DAY;

  beforeAll(async () => {
    tenant = await Tenant.create(app);
    const random = new Random(11);
    const pick = <Value>(values: readonly Value[]) => values[random.integer(0, values.length - 1)] as Value;
    records = await tenant.write(
      ...Array.from({ length: REQUESTS }, () => {
        const type = pick(['TypeError', 'RangeError', 'com.example.Failure', null]);
        return {
          timestamp: start + random.integer(0, 2 * DAY - 1),
          env: pick(['prod', 'prod', 'test']),
          method: pick(['GET', 'POST']),
          path: pick(['/a', '/b', null]),
          consumer: pick([{ identifier: 'anna' }, { identifier: 'bob' }, null]),
          // An exception of a request that did not fail is none of its errors.
          status_code: pick([200, 404, 500, 500, 503]),
          captured_json:
            type === null
              ? ''
              : capture(type, pick(['order 7 is gone', 'order 12 is gone', 'no such order'])),
          excluded_from_logs: random.chance(0.05),
        };
      }),
    );
    for (const identifier of ['anna', 'bob']) consumers.set(identifier, await tenant.consumerId(identifier));
  });

  /** The exception of a request that counts as an error, by the record itself. */
  const exceptionOf = memoize(({ status_code, captured_json, excluded_from_logs }) =>
    status_code < 500 || captured_json === '' || excluded_from_logs
      ? undefined
      : (JSON.parse(captured_json) as { exception: { type: string; message: string } }).exception,
  );
  const nameError = memoize((record) => {
    const { type, message } = exceptionOf(record)!;
    return JSON.stringify([record.method, record.path, type, message.replace(/\d+/, ''), record.env]);
  });

  /** The rows of a window by the records: errors differ in endpoint, type and message without numbers. */
  function expectRows(
    from: number,
    to: number,
    matches: (record: RequestRecord) => boolean,
    periodOf: (time: number) => [number, number] | undefined,
    byConsumer: boolean,
  ) {
    const failed = records.filter((record) => exceptionOf(record) && matches(record));
    const rows = new Map<string, RequestRecord[]>();
    for (const record of failed.filter(({ timestamp }) => timestamp >= from && timestamp < to)) {
      const key = JSON.stringify([
        nameError(record),
        periodOf(record.timestamp),
        byConsumer ? (record.consumer?.identifier ?? null) : undefined,
      ]);
      rows.set(key, [...(rows.get(key) ?? []), record]);
    }
    return Array.from(rows.values(), (of) => {
      const [first] = of as [RequestRecord];
      const same = failed.filter((record) => nameError(record) === nameError(first));
      const times = same.map(({ timestamp }) => timestamp).sort((a, b) => a - b);
      const newest = same
        .filter(({ timestamp }) => timestamp >= from && timestamp < to)
        .reduce((a, b) => (b.timestamp > a.timestamp ? b : a));
      const period = periodOf(first.timestamp);
      const ids = of.flatMap(({ consumer }) => (consumer ? [consumer.identifier] : []));
      return {
        ...(period && { period_start: period[0], period_end: period[1] }),
        kind: 'exception',
        type: exceptionOf(first)!.type,
        message: exceptionOf(newest)!.message,
        method: first.path === null ? null : first.method,
        path: first.path,
        env: first.env,
        ...(byConsumer && { consumer_id: first.consumer ? consumers.get(first.consumer.identifier)! : null }),
        errors: of.length,
        consumers: new Set(ids).size,
        first_seen: iso(times[0]!),
        last_seen: iso(times.at(-1)!),
        request_uuid: newest.request_uuid,
        sentry_event_id: null,
        trace_id: TRACE_ID,
      };
    });
  }

  const sortRows = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort();
  const withoutFingerprint = ({ fingerprint: _, period_start, period_end, ...row }: ErrorRow) => ({
    ...(period_start !== undefined && {
      period_start: Date.parse(period_start),
      period_end: Date.parse(period_end!),
    }),
    ...row,
  });

  it(`has the errors of the requests themselves, in ${RUNS} windows, groups and filters`, async () => {
    const FILTERS: [object[], (record: RequestRecord) => boolean][] = [
      [[], () => true],
      [[{ field: 'env', op: 'eq', value: 'prod' }], ({ env }) => env === 'prod'],
      [[{ field: 'path', op: 'neq', value: '/a' }], ({ path }) => path !== '/a'],
      [
        [{ field: 'method', op: 'in', value: ['get'] }],
        ({ method, path }) => path !== null && method === 'GET',
      ],
      [
        [{ field: 'type', op: 'like', value: '%Error' }],
        (record) => exceptionOf(record)!.type.endsWith('Error'),
      ],
      [[{ field: 'kind', op: 'eq', value: 'server' }], () => false],
      [[{ field: 'consumer_id', op: 'is_null' }], ({ consumer }) => consumer === null],
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.integer({ min: -4, max: 200 }), fc.integer({ min: 1, max: 200 })),
        fc.constantFrom(...FILTERS),
        fc.constantFrom(undefined, 'hour' as const, 'day' as const),
        fc.constantFrom('UTC', 'Asia/Kathmandu', 'America/St_Johns'),
        fc.boolean(),
        async ([at, length], [filters, matches], interval, timezone, byConsumer) => {
          const since = start + at * QUARTER;
          const until = since + length * QUARTER;
          const periodOf = (time: number): [number, number] | undefined => {
            if (interval === undefined) return undefined;
            const zoned = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timezone);
            const first =
              interval === 'day'
                ? zoned.startOfDay()
                : zoned.round({ smallestUnit: 'hour', roundingMode: 'floor' });
            return [first.epochMilliseconds, first.add({ [`${interval}s`]: 1 }).epochMilliseconds];
          };
          const group_by = [...(byConsumer ? ['consumer_id'] : []), ...(interval ? [interval] : [])];
          const rows = await read({
            since: iso(since + 7_000),
            until: iso(until - 7_000),
            filters,
            timezone,
            group_by,
          });
          const [from, to] = [periodOf(since)?.[0] ?? since, periodOf(until - 1)?.[1] ?? until];
          const expected = expectRows(from, to, matches, periodOf, byConsumer);
          expect(sortRows(rows.map(withoutFingerprint))).toEqual(sortRows(expected));
          // Each error has a fingerprint of its own, the same in all rows.
          const named = new Map(
            rows.map((row) => [row.fingerprint, [row.method, row.path, row.type].join()]),
          );
          for (const row of rows)
            expect(named.get(row.fingerprint)).toBe([row.method, row.path, row.type].join());
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('ranks the most frequent first; limit keeps some of them, with all of their rows', async () => {
    const all = await read({ since: iso(start) });
    const rank = all.map(({ errors }) => errors);
    expect(rank).toEqual([...rank].sort((a, b) => b - a));
    expect(await read({ since: iso(start), limit: 3 })).toEqual(all.slice(0, 3));
    const hours = await read({ since: iso(start), limit: 3, group_by: ['hour'] });
    const sums = new Map<string, number>();
    for (const { fingerprint, env, errors } of hours) {
      const key = `${fingerprint} ${env}`;
      sums.set(key, (sums.get(key) ?? 0) + errors);
    }
    expect([...sums.values()].sort((a, b) => b - a)).toEqual(rank.slice(0, 3));
    expect(hours.map(({ period_start }) => period_start)).toEqual(
      hours.map(({ period_start }) => period_start).sort(),
    );
  });

  it('finds an error by its fingerprint', async () => {
    const all = await read({ since: iso(start) });
    const { fingerprint } = all[0]!;
    const find = (op: string, value: unknown) =>
      read({ since: iso(start), filters: [{ field: 'fingerprint', op, value }] });
    expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(await find('eq', fingerprint.toUpperCase())).toEqual(
      all.filter((row) => row.fingerprint === fingerprint),
    );
    expect(await find('not_in', [fingerprint])).toEqual(all.filter((row) => row.fingerprint !== fingerprint));
  });

  it('has the same rows as CSV, Arrow and Parquet', async () => {
    const body = { since: iso(start), group_by: ['day', 'consumer_id'] };
    const rows = await read(body);
    const query = async (format: string) =>
      (await tenant.post('errors', { ...body, format }).responseType('blob')).body as Buffer;
    const toNumbers = ([name, value]: [string, unknown]) =>
      /^period_|_seen$/.test(name) ? Date.parse(value as string) : value;
    const expected = rows.map((row) => Object.entries(row).map(toNumbers));
    const { fields, rows: ofArrow } = readArrow(await query('arrow'));
    expect(fields).toEqual([
      'period_start Timestamp<MILLISECOND, UTC> not null',
      'period_end Timestamp<MILLISECOND, UTC> not null',
      'fingerprint Utf8 not null',
      'kind Utf8 not null',
      'type Utf8 not null',
      'message Utf8',
      'method Utf8',
      'path Utf8',
      'env Utf8 not null',
      'consumer_id Int64',
      'errors Int64 not null',
      'consumers Int64 not null',
      'first_seen Timestamp<MILLISECOND, UTC> not null',
      'last_seen Timestamp<MILLISECOND, UTC> not null',
      'request_uuid Utf8',
      'sentry_event_id Utf8',
      'trace_id Utf8',
    ]);
    expect(
      ofArrow.map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value))),
    ).toEqual(expected);
    const sums = 'SELECT count(*)::INT, sum(errors::INT)::INT, count(DISTINCT fingerprint)::INT FROM rows';
    const counted = [
      [
        rows.length,
        rows.reduce((sum, { errors }) => sum + errors, 0),
        new Set(rows.map(({ fingerprint }) => fingerprint)).size,
      ],
    ];
    expect(await queryParquet(await query('parquet'), [sums])).toEqual(counted);
    expect(await queryCsv(await query('csv'), sums)).toEqual(counted);
  });

  it('shows a key of one consumer its own part alone', async () => {
    const scopes = { ...ALL_SCOPES, appIds: [tenant.appId], consumer: 'anna' };
    const { key } = await app.admin.keys.create(tenant.teamId, { scopes });
    const limitedTenant = new Tenant(app, tenant.teamId, key, tenant.appId);
    const rows = await read({ since: iso(start) }, limitedTenant);
    const expected = expectRows(
      start,
      start + 3 * DAY,
      ({ consumer }) => consumer?.identifier === 'anna',
      () => undefined,
      false,
    );
    expect(sortRows(rows.map(withoutFingerprint))).toEqual(sortRows(expected));
    expect(await read({ since: iso(start), group_by: ['consumer_id'] }, limitedTenant)).toEqual(
      rows.map(({ errors, ...row }) =>
        expect.objectContaining({ ...row, errors, consumer_id: consumers.get('anna') }),
      ),
    );
  });

  it('leaves out excluded endpoints, and has them again when the mark is taken back', async () => {
    const all = await read({ since: iso(start) });
    await tenant.exclude('GET', '/a');
    expect(await read({ since: iso(start) })).toEqual(
      all.filter(({ method, path }) => method !== 'GET' || path !== '/a'),
    );
    await tenant.exclude('GET', '/a', false);
    expect(await read({ since: iso(start) })).toEqual(all);
  });

  it('keeps counts for 13 months, and texts for 15 days', async () => {
    const old = await Tenant.create(app);
    const timestamp = Date.now() - 100 * DAY;
    await old.write({ timestamp, status_code: 500, captured_json: capture('Old', 'old message', 'e1') });
    await old.write({
      timestamp: Date.now() - 14 * MONTH,
      status_code: 500,
      captured_json: capture('Older'),
    });
    expect(await read({ since: '2020-01-01' }, old)).toEqual([
      {
        fingerprint: expect.any(String),
        kind: 'exception',
        type: 'Old',
        message: null,
        method: 'GET',
        path: '/users/{id}',
        env: 'prod',
        errors: 1,
        consumers: 0,
        first_seen: iso(timestamp),
        last_seen: iso(timestamp),
        request_uuid: null,
        sentry_event_id: null,
        trace_id: null,
      },
    ]);
    expect(await read({ since: '2001-01-01', until: '2001-02-01', group_by: ['day'] }, old)).toEqual([]);
  });

  it('says since when an error comes, also before the window, and the newest of the window', async () => {
    const newTenant = await Tenant.create(app);
    const [first, second, third] = [start, start + DAY, start + 2 * DAY];
    const [, inWindow] = await newTenant.write(
      ...[first, second, third].map((timestamp, n) => ({
        timestamp,
        status_code: 500,
        captured_json: capture('E', 'same', `event${n}`),
      })),
    );
    const [row, ...others] = await read({ since: iso(second), until: iso(second + HOUR) }, newTenant);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      errors: 1,
      first_seen: iso(first),
      last_seen: iso(third),
      request_uuid: inWindow!.request_uuid,
      sentry_event_id: 'event1',
    });
  });

  it.each([
    [{}, 'since', 'Field required'],
    [{ since: iso(start), until: iso(start) }, 'since', 'Value error, since must be before until'],
    [
      { since: iso(start), group_by: ['day', 'hour'] },
      'group_by',
      'Value error, group_by has day or hour, not both',
    ],
    [{ since: iso(start), group_by: ['week'] }, 'group_by', "Input should be 'day', 'hour' or 'consumer_id'"],
    [{ since: iso(start), limit: 0 }, 'limit', 'Input should be greater than or equal to 1'],
    [
      { since: iso(start), filters: [{ field: 'kind', op: 'eq', value: 'warning' }] },
      'filters',
      'Value error, value must be one of validation, server, exception',
    ],
    [
      { since: iso(start), filters: [{ field: 'fingerprint', op: 'eq', value: 'x' }] },
      'filters',
      'Value error, value must be 16 hex digits',
    ],
  ])('rejects %j', async (body, member, message) => {
    const response = await tenant.post('errors', body);
    expect(response.status).toBe(422);
    expect(response.body.detail[0]).toMatchObject({
      loc: expect.arrayContaining(['body', member]),
      msg: message,
    });
  });
});
