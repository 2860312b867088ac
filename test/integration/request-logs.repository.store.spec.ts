import type { AppScope } from '../../src/api/apps/apps.service.js';
import { JsonLines } from '../../src/store/client/json-lines.js';
import type { Window } from '../../src/shared/time/window.js';
import { type ScanStep, scanBackwards } from '../../src/api/request-logs/backward-scan.js';
import type { RequestLogKey } from '../../src/api/request-logs/request-log-key.js';
import { LogRateEstimator } from '../../src/api/request-logs/log-rate-estimator.js';
import type { RequestLogsRepository } from '../../src/api/request-logs/request-logs.repository.js';
import { createRequestLogs, toTexts } from '../setup/request-logs.js';
import { type OpenStore, openStore } from '../setup/store.js';

const ROWS = 200_000;
const PAGE = 100;
const STEP_MS = 5_000;
const GRANULE = 512;

/**
 * 200,000 requests of one app, one each five seconds back from `end`; every second of another app. One in
 * 1,500 failed.
 */
const FILL = `
INSERT INTO request_logs_v1 (app_id, timestamp, request_uuid, method, status_code, record_json)
SELECT if(number % 2, {app_id:UInt32}, {app_id:UInt32} + 1),
  fromUnixTimestamp64Milli({end:Int64} - intDiv(number, 2) * ${STEP_MS}, 'UTC'), generateUUIDv4(), 'GET',
  if(number % 3000 < 2, 503, 200),
  '"method":"GET","path":"/a","url":"u","status_code":200}'
FROM numbers(${ROWS * 2})`;

/** Keyset paging: page 1,000 costs what page 1 costs (docs/contract.md#keyset). */
describe('RequestLogsRepository', () => {
  const end = Date.now();
  const window = { start: end - ROWS * STEP_MS, end: end + 1 };
  let open: OpenStore;
  let repository: RequestLogsRepository;
  let scope: AppScope;

  beforeAll(async () => {
    open = await openStore();
    ({ scope, repository } = await createRequestLogs(open));
    await open.store.command(FILL, { app_id: scope.appId, end });
  });

  afterAll(() => open.remove());

  const toKey = (row: string): RequestLogKey => {
    const { timestamp, request_uuid } = JSON.parse(row) as { timestamp: string; request_uuid: string };
    return { timestamp: Date.parse(timestamp), request_uuid };
  };
  /** The page and what the primary index leaves to read for it, by the engine's own estimate. */
  const page = async (inWindow: Window, after?: RequestLogKey) => {
    const jsonLines = jest.spyOn(open.store, 'jsonLines');
    const rows = await repository.page(
      scope,
      {},
      { window: inWindow, limit: PAGE, useTermIndex: false },
      after,
    );
    const [, sql, params] = jsonLines.mock.calls[0]!;
    const estimate = `SELECT toUInt32(sum(rows)) AS n FROM (EXPLAIN ESTIMATE ${sql})`;
    const [{ n } = { n: 0 }] = await open.store.rows<{ n: number }>('test.estimate', estimate, params);
    jest.restoreAllMocks();
    return { rows, remaining: n };
  };

  it('leaves out by the primary index all that was shown before, on the last page as on the first', async () => {
    const first = await page(window);
    expect(first.rows).toHaveLength(PAGE);
    for (const shown of [PAGE * 10, PAGE * 1_000, ROWS - 2 * PAGE]) {
      const { timestamp } = toKey(first.rows.at(0));
      const after = {
        timestamp: timestamp - shown * STEP_MS,
        request_uuid: '00000000-0000-0000-0000-000000000000',
      };
      const { rows, remaining } = await page(window, after);
      expect(toKey(rows.at(0)).timestamp).toBe(after.timestamp - STEP_MS);
      // Parts begin and end inside a granule: a few more rows than there are.
      expect(remaining).toBeLessThanOrEqual(ROWS - shown + 12 * GRANULE);
    }
  });

  it.each([
    ['everything', {}, 1],
    ['a rare status', { status_code: '5xx' }, 2],
    ['what is nowhere', { consumer_id: 7 }, 2],
  ])('finds %s in the most recent rows first, and misses nothing', async (_, filter, looks) => {
    const call = jest.fn((step: ScanStep) => repository.page(scope, filter, step, undefined));
    const rowsPerMs = 1 / STEP_MS;
    const found = JsonLines.join(await scanBackwards(window, PAGE, rowsPerMs, call));
    expect(toTexts(found)).toEqual(toTexts(await call({ window, limit: PAGE, useTermIndex: false })));
    expect(call).toHaveBeenCalledTimes(looks + 1);
  });

  it('knows how many records a window holds, and since when', async () => {
    const long = { start: window.start - ROWS * STEP_MS, end: window.end };
    expect(await repository.countAndOldest(scope, long)).toEqual({
      records: ROWS,
      oldest: end - (ROWS - 1) * STEP_MS,
    });
    expect(await repository.countAndOldest(scope, { start: 0, end: 1 })).toEqual({
      records: 0,
      oldest: null,
    });
  });

  it('leaves out by the primary index what is outside of the window, and other apps', async () => {
    const { rows, remaining } = await page({ start: end - 1_000 * STEP_MS, end });
    expect(rows).toHaveLength(PAGE);
    expect(remaining).toBeLessThanOrEqual(1_000 + 4 * GRANULE);
  });

  it('estimates how many requests an app has anew once an import has filled it', async () => {
    // The next app has the rows of the other one.
    await createRequestLogs(open);
    const empty = await createRequestLogs(open);
    const estimator = new LogRateEstimator(empty.repository);
    expect(await estimator.estimate(empty.scope, end)).toBe(0);
    await open.store.command(FILL, { app_id: empty.scope.appId, end });
    expect(await estimator.estimate(empty.scope, end)).toBeCloseTo(1 / STEP_MS, 6);
  });
});
