import fc from 'fast-check';
import type { AppScope } from '../../src/api/apps/apps.service.js';
import type { Parameters } from '../../src/store/client/query-parameters.js';
import type { RequestLogFilter } from '../../src/api/request-logs/request-log.filter.js';
import type { RequestLogsRepository } from '../../src/api/request-logs/request-logs.repository.js';
import { createRequestLogs, toTexts } from '../setup/request-logs.js';
import { type OpenStore, openStore } from '../setup/store.js';

const ROWS = 20_000;

/**
 * Records of two apps with the same IDs in both, in three blocks: filters of one must not find the other's.
 */
const FILL = `
INSERT INTO request_logs_v1 (app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code, record_json)
SELECT {app_id:UInt32} + number % 2, fromUnixTimestamp64Milli({end:Int64} - number, 'UTC'), generateUUIDv4(),
  1 + cityHash64(number, 'v') % 3, 1 + cityHash64(number, 'e') % 12, cityHash64(number, 'c') % 40,
  ['GET', 'POST', 'M-SEARCH'][1 + cityHash64(number, 'm') % 3],
  [200, 201, 204, 404, 500, 503, 50, 2][1 + cityHash64(number, 's') % 8], concat('"n":', toString(number), '}')
FROM numbers({from:UInt64}, {rows:UInt64})`;
const ENDPOINTS = `
INSERT INTO endpoints_v1 (app_id, id, method, path)
SELECT {app_id:UInt32}, number, 'GET', concat('/v', toString(number % 3), '/items/', toString(number)) FROM numbers(1, 12)`;

const filters = fc.record<RequestLogFilter>(
  {
    app_env_id: fc.integer({ min: 1, max: 4 }),
    consumer_id: fc.oneof(fc.integer({ min: 0, max: 41 }), fc.constant(Number.MAX_SAFE_INTEGER)),
    method: fc.constantFrom('GET', 'get,post', 'M-SEARCH', 'G ET', 'DELETE,post', "'", ',,'),
    path: fc.constantFrom('/v1/items/1', '/v1/*', '*', '*/items/1*', '/nothing*', "'%\\"),
    status_code: fc.constantFrom('200', '2xx', '5xx,404', '000', '0xx', '503,500,2xx', '999'),
  },
  { requiredKeys: [] },
);

describe('a filter, by columns and by terms', () => {
  const end = Date.now();
  const window = { start: end - ROWS * 2, end: end + 1 };
  let open: OpenStore;
  let scope: AppScope;
  let repository: RequestLogsRepository;

  beforeAll(async () => {
    open = await openStore();
    ({ scope, repository } = await createRequestLogs(open));
    const app_id = scope.appId;
    for (const [from, rows] of [
      [0, 1],
      [1, ROWS / 2],
      [1 + ROWS / 2, ROWS * 1.5],
    ] as const)
      await open.store.command(FILL, { app_id, end, from, rows });
    await open.store.command(ENDPOINTS, { app_id });
  });

  afterAll(() => open.remove());

  const found = async (filter: RequestLogFilter, limit: number, useTermIndex: boolean, of = scope) =>
    toTexts(await repository.page(of, filter, { window, limit, useTermIndex }, undefined));

  const explain = async (sql: string, params?: Parameters) => {
    const plan = await open.store.rows<{ explain: string }>(
      'test.plan',
      `SELECT explain FROM (EXPLAIN actions = 1 ${sql} SETTINGS max_threads = 1)`,
      params,
    );
    return plan.map((line) => line.explain).join('\n');
  };

  it('finds the same records in the same order', async () => {
    let matches = 0;
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 300 }), async (filter, limit) => {
        const byTerms = await found(filter, limit, true);
        expect(byTerms).toEqual(await found(filter, limit, false));
        matches += byTerms.length;
      }),
      { numRuns: 150 },
    );
    expect(matches).toBeGreaterThan(0);
  });

  it.each<[string, RequestLogFilter]>([
    ['a consumer', { consumer_id: 7 }],
    ['an environment', { app_env_id: 1 }],
    ['methods', { method: 'GET,POST' }],
    ['statuses', { status_code: '404,5xx' }],
    ['a path', { path: '/v1/*' }],
    ['all of them', { consumer_id: 7, app_env_id: 1, method: 'GET', path: '*', status_code: '2xx' }],
  ])('reads no column of %s, because the index knows the rows', async (_, filter) => {
    const jsonLines = jest.spyOn(open.store, 'jsonLines');
    await found(filter, 100, true);
    const [, sql, params] = jsonLines.mock.calls[0]!;
    const output = await explain(sql, params);
    expect(output).toMatch(/__text_index_ix_filter_terms_has(?:All|Any)Tokens/);
    expect(output).toMatch(/Output: .*\btimestamp\b/);
    expect(output).not.toMatch(/Output: .*\b(?:consumer_id|app_env_id|method|status_code|endpoint_id)\b/);
  });

  it('finds the records of a key of one consumer by the index', async () => {
    const jsonLines = jest.spyOn(open.store, 'jsonLines');
    const ofConsumer = Object.assign(Object.create(scope) as AppScope, { consumerId: 7 });
    expect(await found({}, 100, true, ofConsumer)).toEqual(await found({ consumer_id: 7 }, 100, false));
    const [, sql, params] = jsonLines.mock.calls[0]!;
    expect(await explain(sql, params)).toContain('__text_index_ix_filter_terms_hasAllTokens');
  });
});
