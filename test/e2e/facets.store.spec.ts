import fc from 'fast-check';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { FACET_FIELDS, type FacetField } from '../../src/api/request-logs/facets/facets.input.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { TestApp } from '../setup/app.js';
import { Tenant } from '../setup/tenant.js';

/** More with `PROPERTY_RUNS`, as in a nightly run. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 6);
const HOUR = 3_600_000;
const iso = (epochMs: number) => new Date(epochMs).toISOString();

interface FacetBody {
  value: string | null;
  id?: number | null;
  requests: number;
}

interface Drawn {
  env: string;
  consumer: string | null;
  method: string;
  path: string | null;
  status_code: number;
  client_country_iso_code: string | null;
  exception_type: string | null;
  /** Hours before now. */
  hours: number;
}

const record: fc.Arbitrary<Drawn> = fc.record({
  env: fc.constantFrom('prod', 'dev'),
  consumer: fc.constantFrom('anna', 'bob', 'eve', null),
  method: fc.constantFrom('GET', 'POST', 'PUT'),
  path: fc.constantFrom('/users', '/users/{id}', '/ÄÖ', null),
  status_code: fc.constantFrom(200, 201, 404, 500),
  client_country_iso_code: fc.constantFrom('DE', 'US', null),
  exception_type: fc.constantFrom('TypeError', 'Überlauf', null),
  hours: fc.nat(48),
});
const filter = fc.record(
  {
    env: fc.constantFrom('prod', 'dev'),
    consumer: fc.constantFrom('anna', 'bob'),
    method: fc.constantFrom('GET', 'get,PUT'),
    path: fc.constantFrom('/users', '/users*'),
    status_code: fc.constantFrom('4xx', '200,5xx'),
    hours: fc.constantFrom(12.5, 30.5),
  },
  { requiredKeys: [] },
);

describe('GET /v1/apps/{app_id}/request-logs/facets', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  beforeEach(async () => {
    tenant = await Tenant.create(app);
  });

  afterAll(() => app.stop());

  const read = async (field: FacetField, query: object = {}) => {
    const { status, body, text } = await tenant.get('request-logs/facets', { field, ...query });
    expect([status, text]).toEqual([200, text]);
    return body as { data: FacetBody[]; others: { values: number; requests: number } };
  };

  it(`are the counts of the requests that match, by each field, ${RUNS} times`, async () => {
    const now = Date.now();
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 60, size: 'max' }),
        filter,
        fc.constantFrom(1, 2, 20),
        fc.boolean(),
        async (drawn, asked, limit, hidesUsers) => {
          tenant = await Tenant.create(app);
          await tenant.write(
            ...drawn.map(({ hours, consumer, exception_type: type, ...members }) => ({
              ...members,
              timestamp: now - hours * HOUR,
              consumer: consumer === null ? null : { identifier: consumer },
              captured_json: toCaptureJson({
                ...EMPTY_CAPTURE,
                exception:
                  type === null ? null : { type, message: '', stacktrace: '', tracker_event_id: null },
              }),
            })),
          );
          const isThere = (method: string, path: string) =>
            drawn.some((request) => request.method === method && request.path === path);
          const hidden = hidesUsers && isThere('GET', '/users');
          if (hidden) await tenant.exclude('GET', '/users');
          const ids = {
            env:
              asked.env && (drawn.some(({ env }) => env === asked.env) ? await tenant.envId(asked.env) : 999),
            consumer:
              asked.consumer &&
              (drawn.some(({ consumer }) => consumer === asked.consumer)
                ? await tenant.consumerId(asked.consumer)
                : 999),
          };
          const query = {
            start: iso(now - (asked.hours ?? 72) * HOUR),
            end: iso(now + 1),
            ...(ids.env && { app_env_id: ids.env }),
            ...(ids.consumer && { consumer_id: ids.consumer }),
            ...(asked.method && { method: asked.method }),
            ...(asked.path && { path: asked.path }),
            ...(asked.status_code && { status_code: asked.status_code }),
            limit,
          };
          const matching = drawn.filter(
            ({ env, consumer, method, path, status_code, hours }) =>
              hours <= (asked.hours ?? 72) &&
              (asked.env ?? env) === env &&
              (asked.consumer ?? consumer) === consumer &&
              (asked.method ?? method).toUpperCase().split(',').includes(method) &&
              (!asked.path ||
                path === asked.path ||
                (asked.path.endsWith('*') && path?.startsWith('/users'))) &&
              (asked.status_code ?? String(status_code))
                .split(',')
                .some(
                  (wanted) =>
                    wanted === String(status_code) || wanted === `${Math.floor(status_code / 100)}xx`,
                ) &&
              !(hidden && method === 'GET' && path === '/users'),
          );
          for (const field of FACET_FIELDS) {
            const counted = new Map<string | null, number>();
            for (const request of matching) {
              const value = request[field] === null ? null : String(request[field]);
              counted.set(value, (counted.get(value) ?? 0) + 1);
            }
            const { data, others } = await read(field, query);
            expect(data.length).toBe(Math.min(limit, counted.size));
            expect(data.map(({ value, requests }) => [field, value, requests])).toEqual(
              data.map(({ value }) => [field, value, counted.get(value)]),
            );
            const descending = [...counted.values()].sort((a, b) => b - a);
            expect(data.map(({ requests }) => requests)).toEqual(descending.slice(0, limit));
            const rest = descending.slice(limit);
            expect(others).toEqual({ values: rest.length, requests: rest.reduce((sum, n) => sum + n, 0) });
            for (const { value, id } of data)
              if (field === 'env') expect(id).toBe(await tenant.envId(value!));
              else if (field === 'consumer') expect(id).toBe(value && (await tenant.consumerId(value)));
              else expect(id).toBeUndefined();
          }
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it('count each path once, whatever its methods, and have an order', async () => {
    await tenant.write(
      { path: '/a', method: 'GET' },
      { path: '/a', method: 'POST' },
      { path: null },
      { path: '/b' },
    );
    expect(await read('path')).toEqual({
      data: [
        { value: '/a', requests: 2 },
        { value: '/b', requests: 1 },
        { value: null, requests: 1 },
      ],
      others: { values: 0, requests: 0 },
    });
  });

  it('are of one consumer with a key of one', async () => {
    await tenant.write(
      { consumer: { identifier: 'anna' }, path: '/a' },
      { consumer: { identifier: 'bob' }, path: '/b' },
    );
    const scopes = { ...ALL_SCOPES, appIds: [tenant.appId], consumer: 'anna' };
    const { key } = await app.admin.keys.create(tenant.teamId, { scopes });
    const { body } = await app.get(`/v1/apps/${tenant.appId}/request-logs/facets?field=path`, key);
    expect(body.data).toEqual([{ value: '/a', requests: 1 }]);
  });

  it('have a validator of copies where the window has ended, and none in a running one', async () => {
    await tenant.write({});
    const closed = { field: 'method', start: iso(Date.now() - 2 * HOUR), end: iso(Date.now() - HOUR) };
    expect((await tenant.get('request-logs/facets', closed)).headers).toHaveProperty('etag');
    expect((await tenant.get('request-logs/facets', { field: 'method' })).headers).not.toHaveProperty('etag');
  });

  it('are of a field that is counted, by default the status', async () => {
    for (const [query, type] of [
      [{ field: 'url' }, 'literal_error'],
      [{ field: 'method', limit: 1001 }, 'less_than_equal'],
      [{ field: 'method', start: '2026-01-02', end: '2026-01-01' }, 'value_error'],
    ] as const) {
      const { status, body } = await tenant.get('request-logs/facets', query);
      expect([status, body.detail[0].type]).toEqual([422, type]);
    }
    await tenant.write({ status_code: 418 });
    const { body } = await tenant.get('request-logs/facets');
    expect(body.data).toEqual([{ value: '418', requests: 1 }]);
  });
});
