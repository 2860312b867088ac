import { randomUUID } from 'node:crypto';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { BINS_PER_OCTAVE, type Bin } from '../../src/records/bins.js';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { LocalClock } from '../setup/local-clock.js';
import { Tenant } from '../setup/tenant.js';

/** More with `PROPERTY_RUNS`, as in a nightly run: each is several requests. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 5);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const METRICS = ['requests', 'bytes_received', 'bytes_sent', 'client_errors', 'server_errors', 'error_rate'];
const RANKS = { p50: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99 };
const PERCENTILES = Object.keys(RANKS).map((name) => `response_time_${name}`);
const SIZES = { request_size: 'received', response_size: 'sent' };
const GROUPS = [
  'env',
  'consumer_id',
  'method',
  'path',
  'status_code',
  'consumer_group',
  'status_class',
] as const;

const ZONES = Intl.supportedValuesOf('timeZone');
const INTERVALS = [undefined, 'minute', 'hour', 'day', 'month'] as const;
const METHODS = ['GET', 'POST'];
const PATHS = ['/users', '/users/{id}', '/100%_a', '/ÄÖ/{x}', null];
const ENVS = ['prod', 'Dev', 'st_ging'];
const CONSUMERS = ['anna', 'bob', null];
/** Bob is in no group. */
const GROUP_OF: Readonly<Record<string, string>> = { anna: 'Partners' };
const STATUSES = [200, 204, 301, 404, 422, 500, 503];

const requests = fc.array(
  fc.record({
    /** Place in the window and around it, from its start (0) to its end (1). */
    place: fc.double({ min: -0.1, max: 1.1, noNaN: true }),
    env: fc.constantFrom(...ENVS),
    consumer: fc.constantFrom(...CONSUMERS),
    method: fc.constantFrom(...METHODS),
    path: fc.constantFrom(...PATHS),
    status_code: fc.constantFrom(...STATUSES),
    response_time_ms: fc.oneof(fc.nat(50), fc.nat(3_000), fc.constantFrom(0, 1, 500, 501, 120_000)),
    request_size_bytes: fc.option(fc.nat(5_000)),
    response_size_bytes: fc.option(fc.nat(9_000_000_000_000)),
    /** How often a client library counted such a request beside, in bins of 10 ms; 0: never. */
    counted: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(5)),
    hasKnownStatus: fc.boolean(),
  }),
  { minLength: 1, maxLength: 60, size: 'max' },
);

const text = fc.constantFrom(
  'GET',
  'post',
  '/users',
  '/users%',
  '%{_d}',
  '/100\\%\\_a',
  'ä',
  'dev',
  'st\\_%',
  'x',
  'part%',
  '',
);
const textFilter = fc.record({
  field: fc.constantFrom('env', 'method', 'path', 'consumer_group'),
  op: fc.constantFrom('eq', 'neq', 'like', 'not_like', 'contains', 'not_contains'),
  value: text,
});
const textsFilter = fc.record({
  field: fc.constantFrom('env', 'method', 'path', 'consumer_group'),
  op: fc.constantFrom('in', 'not_in'),
  value: fc.array(fc.constantFrom('GET', '/users', 'prod', 'Dev', 'Partners', 'x'), { maxLength: 3 }),
});
const statusFilter = fc.record({
  field: fc.constant('status_code'),
  op: fc.constantFrom('eq', 'neq', 'gt', 'gte', 'lt', 'lte'),
  value: fc.constantFrom(0, 200, 404, 500, 70_000),
});
const statusesFilter = fc.record({
  field: fc.constant('status_code'),
  op: fc.constantFrom('in', 'not_in'),
  value: fc.array(fc.constantFrom(...STATUSES, 0), { maxLength: 3 }),
});
const classFilter = fc.record({
  field: fc.constant('status_class'),
  op: fc.constantFrom('eq', 'neq'),
  value: fc.constantFrom('2xx', '4xx', '9xx', '0xx'),
});
const nullFilter = fc.record({
  field: fc.constantFrom('consumer_id', 'status_code', 'consumer_group', 'status_class'),
  op: fc.constantFrom('is_null', 'is_not_null'),
});
const filters = fc.array(
  fc.oneof(textFilter, textsFilter, statusFilter, statusesFilter, classFilter, nullFilter),
  {
    maxLength: 2,
  },
);

const questions = fc.record({
  interval: fc.constantFrom(...INTERVALS),
  timezone: fc.constantFrom(...ZONES),
  groupBy: fc.uniqueArray(fc.constantFrom(...GROUPS), { maxLength: 3 }),
  filters,
  excluded: fc.option(fc.constantFrom(...PATHS.filter((path) => path !== null))),
  expected: fc.option(fc.constantFrom(404, 422)),
  daysAgo: fc.nat(400),
  lengthHours: fc.integer({ min: 1, max: 24 * 14 }),
  offset: fc.nat(DAY),
  threshold: fc.constantFrom(100, 500, 1_000),
  batches: fc.integer({ min: 1, max: 3 }),
  repeats: fc.boolean(),
});

const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** A condition of DuckDB's that means the same as a filter, nulls included. */
function buildCondition({
  field: column,
  op,
  value,
}: {
  field: string;
  op: string;
  value?: unknown;
}): string {
  const quote = (operand: unknown) =>
    typeof operand === 'number' ? String(operand) : `'${String(operand).replaceAll("'", "''")}'`;
  const upper = (operand: unknown) => (column === 'method' ? String(operand).toUpperCase() : operand);
  const positive: Record<string, () => string> = {
    eq: () => `${column} = ${quote(upper(value))}`,
    gt: () => `${column} > ${quote(value)}`,
    gte: () => `${column} >= ${quote(value)}`,
    lt: () => `${column} < ${quote(value)}`,
    lte: () => `${column} <= ${quote(value)}`,
    in: () => `list_contains([${(value as unknown[]).map(upper).map(quote).join()}], ${column})`,
    like: () => `${column} LIKE ${quote(upper(value))} ESCAPE '\\'`,
    contains: () => `contains(lower(${column}), lower(${quote(value)}))`,
    is_null: () => `${column} IS NULL`,
  };
  const negated = op === 'neq' ? 'eq' : op === 'is_not_null' ? 'is_null' : /^not_(.*)/.exec(op)?.[1];
  return negated ? `NOT coalesce(${positive[negated]!()}, false)` : `coalesce(${positive[op]!()}, false)`;
}

describe('metrics', () => {
  let app: TestApp;
  let truth: DuckDBConnection;
  let instance: DuckDBInstance;

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
    instance = await DuckDBInstance.create(':memory:');
    truth = await instance.connect();
  });

  afterAll(async () => {
    truth.closeSync();
    instance.closeSync();
    await app.stop();
  });

  const call = async (sql: string) =>
    (await truth.runAndReadAll(sql)).getRowObjectsJson() as Record<string, unknown>[];

  it(`are those of a naive computation from the raw requests, ${RUNS} times`, async () => {
    await fc.assert(
      fc.asyncProperty(questions, requests, async (question, drawn) => {
        const { interval, timezone, groupBy, threshold } = question;
        // The period of the window's start lies within the retention as well.
        const longestAgo = { minute: 25, month: 340 }[interval as string] ?? 370;
        const daysAgo = 3 + (question.daysAgo % longestAgo);
        const lengthMs =
          interval === 'minute' ? (question.lengthHours % 5) * HOUR + MINUTE : question.lengthHours * HOUR;
        const since = Date.now() - daysAgo * DAY - (question.offset % lengthMs);
        const until = Math.min(since + lengthMs, Date.now() - HOUR);
        const tenant = await Tenant.create(app);

        const raw = drawn.map(({ place, consumer, counted, hasKnownStatus, ...request }) =>
          buildRequest({
            ...request,
            timestamp: Math.round(since + place * (until - since)),
            consumer:
              consumer === null
                ? null
                : { identifier: consumer, ...(GROUP_OF[consumer] && { group: GROUP_OF[consumer] }) },
          }),
        );
        // In any order, in several batches, some of them again.
        const shuffled = raw.map((record, index) => ({ record, batch: (index * 7) % question.batches }));
        for (let batch = 0; batch < question.batches; batch++)
          await tenant.write(
            ...shuffled.filter((request) => request.batch === batch).map(({ record }) => record),
          );
        if (question.repeats) await tenant.write(...[...raw].reverse());
        const counts = drawn.flatMap(({ counted, hasKnownStatus, ...request }, index) => {
          if (counted === 0) return [];
          const seconds = (Math.floor(request.response_time_ms / 10) * 10 + 5) / 1_000;
          const k = Math.round(BINS_PER_OCTAVE * Math.log2(seconds));
          return [
            {
              timestamp: raw[index]!.timestamp,
              env: request.env,
              consumer: raw[index]!.consumer,
              method: request.method,
              path: request.path,
              status_code: hasKnownStatus ? request.status_code : 0,
              requests: counted,
              bytes_received: counted,
              bytes_sent: 2 * counted,
              bins: [
                ['time', k, counted],
                ['received', 0, counted],
                ['sent', BINS_PER_OCTAVE, counted],
              ] as Bin[],
            },
          ];
        });
        if (counts.length > 0)
          await app.writer.writeCounts(tenant.appId, counts, randomUUID().replaceAll('-', ''));
        const { excluded, expected } = question;
        const paths = new Set(raw.map(({ method, path }) => `${method} ${path}`));
        const isThere = (path: string) => paths.has(`GET ${path}`);
        if (excluded !== null && isThere(excluded)) await tenant.exclude('GET', excluded);
        if (expected !== null && isThere('/users')) {
          const { body } = await tenant.get('endpoints', { method: 'GET', path: '/users' });
          const mark = {
            app_id: tenant.appId,
            endpoint_id: body.data[0].id,
            status_code: expected,
            marked: true,
          };
          await app.store.insert('endpoint_expected_errors_v1', [JSON.stringify(mark)]);
        }

        const rows = await tenant.metrics({
          since: iso(since),
          until: iso(until),
          ...(interval && { interval }),
          timezone,
          group_by: groupBy,
          filters: question.filters,
          metrics: [
            ...[...METRICS, 'requests_per_minute', ...PERCENTILES, 'apdex', 'response_time_histogram'],
            ...Object.keys(SIZES).flatMap((size) =>
              ['avg', ...Object.keys(RANKS)].map((name) => `${size}_${name}`),
            ),
          ],
          apdex_threshold_ms: threshold,
        });

        // The truth: a row for each request, counted in JavaScript by luxon's calendar, summed up by DuckDB.
        const clock = new LocalClock(timezone, since - 40 * DAY, until + 40 * DAY);
        const step = since >= Date.now() - 32 * DAY ? MINUTE : 15 * MINUTE;
        const inWindow = (at: number) =>
          at >= Math.floor(since / step) * step && at < Math.ceil(until / step) * step ? 'window' : undefined;
        const ends = [since, until - 1].map((edge) => interval && clock.findPeriod(edge, interval));
        const getPeriod = (at: number) => {
          if (!interval) return inWindow(at);
          const period = clock.findPeriod(at, interval);
          return (at >= since && at < until) || ends.includes(period) ? period : undefined;
        };
        const consumers = new Map<string | null, number | null>([[null, null]]);
        for (const { identifier, id } of (await tenant.consumers({ limit: 1000 })).data)
          consumers.set(identifier, id);
        const all = [
          ...raw.map((row) => ({
            ...row,
            n: 1,
            status: row.status_code,
            received: row.request_size_bytes,
            sent: row.response_size_bytes,
            slack: 0,
          })),
          ...counts.map((count, index) => ({
            ...count,
            n: count.requests,
            status: count.status_code === 0 ? null : count.status_code,
            received: 1,
            sent: 2,
            response_time_ms: drawn.filter(({ counted }) => counted > 0)[index]!.response_time_ms,
            slack: 5,
          })),
        ]
          .map((row) => ({
            ...row,
            // The middle of an interval of 10 ms.
            binned_ms:
              row.slack === 0 ? row.response_time_ms! : Math.floor(row.response_time_ms! / 10) * 10 + 5,
          }))
          .filter(({ timestamp }) => getPeriod(timestamp) !== undefined);
        const text = (value: string | null) => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`);
        const values = all.map(
          (request) =>
            `(${text(getPeriod(request.timestamp)!)}, ${text(request.env)}, ${consumers.get(request.consumer?.identifier ?? null) ?? 'NULL'}, ` +
            `${request.path === null ? 'NULL' : text(request.method)}, ${text(request.path)}, ${request.status ?? 'NULL'}, ${request.n}, ` +
            `${request.received ?? 'NULL'}, ${request.sent ?? 'NULL'}, ${request.response_time_ms}, ${request.slack}, ` +
            `${request.binned_ms}, ${text(GROUP_OF[request.consumer?.identifier ?? ''] ?? null)}, ` +
            `${request.status === null ? 'NULL' : text(`${Math.floor(request.status / 100)}xx`)})`,
        );
        await truth.run(`CREATE OR REPLACE TEMP TABLE raw (period TEXT, env TEXT, consumer_id BIGINT, method TEXT,
          path TEXT, status_code INT, n BIGINT, received BIGINT, sent BIGINT, ms BIGINT, slack BIGINT, binned_ms BIGINT,
          consumer_group TEXT, status_class TEXT)`);
        if (values.length > 0) await truth.run(`INSERT INTO raw VALUES ${values.join()}`);
        const isExpected =
          expected === null
            ? 'false'
            : `coalesce(status_code = ${expected} AND path = '/users' AND method = 'GET', false)`;
        const conditions = [
          'true',
          ...question.filters.map(buildCondition),
          ...(excluded !== null && isThere(excluded)
            ? [`NOT coalesce(path = ${text(excluded)} AND method = 'GET', false)`]
            : []),
        ];
        const keys = ['period', ...GROUPS.filter((group) => groupBy.includes(group))];
        const errors = (from: number) =>
          `coalesce(sum(n) FILTER (status_code >= ${from} AND status_code < ${from + 100} AND NOT ${isExpected}), 0)`;
        const sorted = (column: string) =>
          `list_sort(flatten(list(list_transform(range(n), x -> ${column})) FILTER (${column} IS NOT NULL)))`;
        const counted = (column: string) => `coalesce(sum(n) FILTER (${column} IS NOT NULL), 0)`;
        const ranked = (column: string, q: number) =>
          `${sorted(column)}[ceil(${q} * ${counted(column)})::INT]`;
        const within = (factor: string) =>
          `(coalesce(sum(n) FILTER (ms <= ${threshold} * ${factor} + slack * ${factor === '1.022' ? '1' : '-1'}), 0)
            + coalesce(sum(n) FILTER (ms <= 4 * ${threshold} * ${factor} + slack * ${factor === '1.022' ? '1' : '-1'}), 0)) / 2`;
        const naive = await call(`
          SELECT ${keys.join()}, sum(n)::BIGINT AS requests, coalesce(sum(n * received), 0)::BIGINT AS bytes_received,
            coalesce(sum(n * sent), 0)::BIGINT AS bytes_sent, ${sorted('binned_ms')} AS times,
            ${Object.entries(SIZES)
              .flatMap(([size, column]) => [
                `${counted(column)}::BIGINT AS ${size}_known`,
                ...Object.entries(RANKS).map(([name, q]) => `${ranked(column, q)} AS ${size}_${name}`),
              ])
              .join()},
            coalesce(sum(n) FILTER (status_code IS NOT NULL), 0)::BIGINT AS known,
            ${errors(400)}::BIGINT AS client_errors, ${errors(500)}::BIGINT AS server_errors, max(slack) AS slack,
            ${Object.entries(RANKS)
              .map(([name, q]) => `${ranked('ms', q)} AS response_time_${name}`)
              .join()},
            coalesce(${within('1.022')}, 0)::DOUBLE AS most, coalesce(${within('0.978')}, 0)::DOUBLE AS least
          FROM raw WHERE ${conditions.join(' AND ')} GROUP BY ${keys.join()}`);

        const buildKey = (row: Record<string, unknown>) =>
          JSON.stringify(keys.map((key) => String(row[key])));
        const byKey = new Map(naive.map((row) => [buildKey(row), row]));
        const labelled = rows.map((row): Record<string, unknown> => {
          const start = Date.parse(row.period_start as string);
          return { ...row, period: interval ? clock.findPeriod(start, interval) : 'window' };
        });
        expect(labelled.map(buildKey).sort()).toEqual([...byKey.keys()].sort());
        for (const row of labelled) {
          const expectedRow = byKey.get(buildKey(row))!;
          const [requestsOfRow, withStatus] = [Number(expectedRow.requests), Number(expectedRow.known)];
          const ofErrors = (name: string) => (withStatus === 0 ? null : Number(expectedRow[name]));
          expect(row).toMatchObject({
            requests: requestsOfRow,
            bytes_received: Number(expectedRow.bytes_received),
            bytes_sent: Number(expectedRow.bytes_sent),
            client_errors: ofErrors('client_errors'),
            server_errors: ofErrors('server_errors'),
            error_rate:
              withStatus === 0
                ? null
                : (ofErrors('client_errors')! + ofErrors('server_errors')!) / withStatus,
          });
          const minutes =
            (Date.parse(row.period_end as string) - Date.parse(row.period_start as string)) / MINUTE;
          if (Date.parse(row.period_end as string) < Date.now())
            expect(row.requests_per_minute).toBeCloseTo(requestsOfRow / minutes, 9);
          for (const name of PERCENTILES) {
            const [found, exact] = [row[name] as number, Number(expectedRow[name])];
            const slack = Number(expectedRow.slack);
            expect([name, Math.abs(found - exact) <= slack + 0.011 * (exact + slack) + 0.5]).toEqual([
              name,
              true,
            ]);
          }
          for (const [size, column] of Object.entries(SIZES)) {
            const knownSizes = Number(expectedRow[`${size}_known`]);
            const bytes = Number(expectedRow[`bytes_${column}`]);
            if (knownSizes === 0) expect(row[`${size}_avg`]).toBeNull();
            else
              expect((row[`${size}_avg`] as number) / (bytes / knownSizes || 1)).toBeCloseTo(
                bytes === 0 ? 0 : 1,
                9,
              );
            for (const name of Object.keys(RANKS)) {
              const [found, exact] = [
                row[`${size}_${name}`] as number | null,
                expectedRow[`${size}_${name}`],
              ];
              if (knownSizes === 0) expect([found, exact]).toEqual([null, null]);
              else
                expect([size, name, Math.abs(found! - Number(exact)) <= 0.011 * Number(exact) + 0.5]).toEqual(
                  [size, name, true],
                );
            }
          }
          const times = (expectedRow.times as string[]).map(Number);
          let below = 0;
          for (const [bound, count] of row.response_time_histogram as [number, number][]) {
            expect(count).toBeGreaterThan(0);
            below += count;
            expect([bound, times.filter((time) => time <= bound).length]).toEqual([bound, below]);
          }
          expect(below).toBe(times.length);
          const [apdex, least, greatest] = [
            row.apdex as number,
            Number(expectedRow.least),
            Number(expectedRow.most),
          ];
          expect(apdex).toBeGreaterThanOrEqual(least / requestsOfRow - 1e-9);
          expect(apdex).toBeLessThanOrEqual(greatest / requestsOfRow + 1e-9);
        }
        const order = rows.map((row) => [row.period_start, ...keys.slice(1).map((key) => row[key])]);
        const ranks = (value: unknown) => (value === null ? [1, ''] : [0, value]);
        const compare = (a: unknown[], b: unknown[]): number => {
          for (const [index, values] of a.entries()) {
            const [[x, u], [y, v]] = [ranks(values), ranks(b[index])] as [[number, never], [number, never]];
            if (x !== y) return x - y;
            if (u !== v)
              return typeof u === 'string' ? Buffer.compare(Buffer.from(u), Buffer.from(v)) : u - v;
          }
          return 0;
        };
        expect(order).toEqual([...order].sort(compare));
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});
