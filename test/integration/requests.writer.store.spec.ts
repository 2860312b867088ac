import { randomUUID } from 'node:crypto';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { prepareStore } from '../../src/write/prepare-store.js';
import type { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { QueryTimedOut, StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { type Measure, findBin } from '../../src/records/bins.js';
import { KnownRequests } from '../../src/write/known-requests.js';
import { NameRegistry } from '../../src/records/names/name-registry.js';
import { RequestClaims } from '../../src/write/request-claims.js';
import { EMPTY_CAPTURE_JSON } from '../../src/records/capture.js';
import type { CountRecord, RequestRecord } from '../../src/records/request-record.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { COUNTS_TABLES, selectSums } from '../setup/rollups.js';
import { type OpenStore, createApp, describeEmbedded, openStore, reopen } from '../setup/store.js';

/** All that requests leave behind, and how to read it so that merges in the background make no difference. */
const TRACES: Record<string, string> = {
  logs: 'SELECT * FROM request_logs_v1 WHERE app_id = {app_id:UInt32} ORDER BY request_uuid',
  details: 'SELECT * FROM request_details_v1 WHERE app_id = {app_id:UInt32} ORDER BY request_uuid',
  ledger: 'SELECT * FROM import_ledger_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY request_uuid',
  ...Object.fromEntries(COUNTS_TABLES.map((table) => [table, selectSums(table)])),
  consumers: `SELECT consumer_id, max(last_request_at) FROM consumer_activity_v1
    WHERE app_id = {app_id:UInt32} GROUP BY ALL ORDER BY ALL`,
  endpoints: `SELECT app_env_id, endpoint_id, max(last_request_at) FROM endpoint_activity_v1
    WHERE app_id = {app_id:UInt32} GROUP BY ALL ORDER BY ALL`,
  names: `SELECT 'env', id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}
    UNION ALL SELECT method, id, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}
    UNION ALL SELECT name, id, identifier FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY ALL`,
};

/** The requests of each table, and those whose time is in a bin. */
const SELECT_COUNTS = COUNTS_TABLES.map(
  (table) => `SELECT '${table}' AS name, toString(measure) AS of, toUInt32(sum(n)) AS total FROM ${table}
    WHERE app_id = {app_id:UInt32} AND measure IN ('requests', 'time') GROUP BY ALL`,
).join(' UNION ALL ');

interface SumRow {
  measure: Measure | 'requests';
  k: number;
  n: number;
}

describe('RequestsWriter', () => {
  let open: OpenStore;
  let store: ClickHouse;
  let writer: RequestsWriter;
  let appId: number;

  beforeAll(async () => {
    open = await openStore();
    ({ store } = open);
    writer = RequestsWriter.create(store);
  });

  beforeEach(async () => {
    appId = await createApp(store);
  });

  afterAll(() => open.remove());

  /** As another process, or this one after a crash, would go on. */
  const restart = async () => {
    store = await reopen(open);
    await prepareStore(store);
    writer = RequestsWriter.create(store);
    await writer.recover(0);
  };
  const write = async (app: number, records: readonly RequestRecord[]) =>
    (await writer.write(app, records)).map(({ record }) => record);
  const rows = (sql: string, app_id = appId) => store.rows<object>('test.traces', sql, { app_id });
  const traces = async (...names: string[]) => {
    const read = Object.entries(TRACES).filter(([name]) => names.length === 0 || names.includes(name));
    const found = read.map(async ([name, sql]) => [name, await rows(sql)] as const);
    return Object.fromEntries(await Promise.all(found));
  };
  const requestsIn = async (table: string, measure = 'requests') => {
    const sums = (await rows(TRACES[table]!)) as SumRow[];
    return add(sums.filter((sum) => sum.measure === measure).map(({ n }) => n));
  };
  const binsIn = async (table: string) =>
    ((await rows(TRACES[table]!)) as (SumRow & { status_code: number })[]).filter(
      ({ measure }) => measure !== 'requests',
    );
  /** Each request counts once in each grain, and its time in one bin. */
  const expectCounted = async (requests: number) => {
    const found = (await rows(SELECT_COUNTS)) as { name: string; of: string; total: number }[];
    const expected = COUNTS_TABLES.flatMap((table) => [
      `${table} requests: ${requests}`,
      `${table} time: ${requests}`,
    ]);
    expect(found.map(({ name, of, total }) => `${name} ${of}: ${total}`).sort()).toEqual(expected.sort());
  };
  const some = (count: number, overrides: Partial<RequestRecord> = {}) =>
    Array.from({ length: count }, (_, n) =>
      buildRequest({
        consumer: { identifier: `consumer ${n % 3}` },
        path: `/path/${n % 4}`,
        request_size_bytes: n,
        ...overrides,
      }),
    );

  describe('the same requests again', () => {
    it('change nothing: not the logs, the details, the traffic, nor the activity', async () => {
      const records = some(20, { captured_json: '{"request_headers":[["x","1"]]}' });
      expect(await write(appId, records)).toEqual(records);
      const before = await traces();
      expect([before.logs!.length, before.details!.length]).toEqual([20, 20]);
      await expectCounted(20);
      expect(await write(appId, records)).toEqual([]);
      await restart();
      expect(await write(appId, [...records].reverse())).toEqual([]);
      expect(await traces()).toEqual(before);
    });

    it('count once where they come in other batches, beside new ones', async () => {
      const records = some(30);
      await writer.write(appId, records.slice(0, 20));
      expect(await write(appId, records.slice(10))).toEqual(records.slice(20));
      expect((await traces('logs')).logs).toHaveLength(30);
      await expectCounted(30);
    });

    it.each([
      ['static assets and health checks', { excluded_from_logs: true }],
      ['older than the logs are kept', { timestamp: Date.now() - 15 * 86_400_000 - 60_000 }],
    ])('count once in other batches if they are not logged: %s', async (_, overrides) => {
      const records = some(6, overrides);
      await writer.write(appId, records.slice(0, 4));
      expect(await write(appId, records.slice(2))).toEqual(records.slice(4));
      await expectCounted(6);
    });

    it('count once where they stand twice in one batch: the first', async () => {
      const [first, second] = some(2);
      const twice = { ...first!, url: 'again' };
      expect(await write(appId, [first!, second!, first!, twice])).toEqual([first, second]);
      const { logs } = await traces('logs');
      const urls = logs!.map(
        (row) => (JSON.parse(`{${(row as { record_json: string }).record_json}`) as RequestRecord).url,
      );
      expect(urls).toEqual([first!.url, second!.url]);
      await expectCounted(2);
    });

    it.each([
      'counts_per_day_mv_v1',
      'counts_per_minute_mv_v1',
      'counts_per_15m_by_consumer_mv_v1',
      'request_sums_mv',
      'request_counts_mv',
    ])('are counted once after a crash before %s, in whichever batches they come again', async (view) => {
      const records = some(25);
      const [{ create }] = (await rows(
        `SELECT create_table_query AS create FROM system.tables
         WHERE name = '${view}' AND database = currentDatabase()`,
      )) as [{ create: string }];
      // Tables that the batch did not reach before the crash, and a log without the mark that would say so.
      await store.command(`DROP VIEW ${view}`);
      await writer.write(appId, records.slice(0, 20));
      await store.command(create);
      await expect(expectCounted(20)).rejects.toThrow();
      await restart();
      expect(await write(appId, records.slice(3))).toEqual(records.slice(20));
      expect((await traces('logs')).logs).toHaveLength(25);
      await expectCounted(25);
    });

    it('are counted once where the batch was appended to the log, and nothing of it inserted', async () => {
      const records = some(10);
      const killed = jest
        .spyOn(store, 'insert')
        .mockImplementation((table) =>
          table === 'requests' ? Promise.reject(new Error('killed')) : Promise.resolve(),
        );
      await expect(writer.write(appId, records)).rejects.toThrow('killed');
      killed.mockRestore();
      await restart();
      expect(await write(appId, [...records, ...some(5)])).toHaveLength(5);
      await expectCounted(15);
    });

    it.each([
      ['was refused', new Error('Memory limit exceeded'), false],
      ['failed, with an unknown outcome', new QueryTimedOut('no response'), false],
      ['has no response but was done', new QueryTimedOut('no response'), true],
    ])(
      'are counted once where their insert %s, and they come again at once in other batches',
      async (_, error, isDone) => {
        const records = some(20);
        const insert = store.insert.bind(store);
        const failing = jest.spyOn(store, 'insert').mockImplementation(async (table, ...rest) => {
          if (isDone || table !== 'requests') await insert(table, ...rest);
          if (table === 'requests') throw error;
        });
        await expect(writer.write(appId, records)).rejects.toBe(error);
        failing.mockRestore();
        expect(await write(appId, [...records.slice(10), ...some(5)])).toHaveLength(5);
        await writer.recover(0);
        expect(await write(appId, records)).toEqual([]);
        await expectCounted(25);
      },
    );

    it('wait in other batches for a write whose place in the log is unknown, and are written in the same one', async () => {
      const records = some(20);
      const lost = jest.spyOn(store, 'insertRaw').mockRejectedValueOnce(new QueryTimedOut('no response'));
      await expect(writer.write(appId, records)).rejects.toThrow('no response');
      lost.mockRestore();
      await expect(writer.write(appId, records.slice(10))).rejects.toThrow(StoreUnavailable);
      expect(await write(appId, some(5))).toHaveLength(5);
      expect(await write(appId, records)).toEqual(records);
      expect(await write(appId, records.slice(10))).toEqual([]);
      await expectCounted(25);
    });

    it('are counted once where two writers have them at the same time', async () => {
      const records = some(200);
      const [names, claims] = [NameRegistry.create(store), new RequestClaims(new LocalCoordinator())];
      const [first, second] = [
        new RequestsWriter(store, names, claims),
        new RequestsWriter(store, names, claims),
      ];
      const written = await Promise.all([
        first.write(appId, records),
        second.write(appId, [...records].reverse()),
        first.write(appId, records.slice(50, 150)),
      ]);
      expect(written.flat()).toHaveLength(200);
      expect((await traces('logs')).logs).toHaveLength(200);
      await expectCounted(200);
    });

    it('are other requests in another app', async () => {
      const records = some(3);
      await writer.write(appId, records);
      const { id } = await createAdmin(store).apps.create(1, 'Other', 'express');
      expect(await write(id, records)).toEqual(records);
      expect(await rows(TRACES.logs!, id)).toHaveLength(3);
      const { request_uuid } = records[0]!;
      const unknown = { app_id: 4_200_000_000, request_uuid };
      const requests = [{ app_id: appId, request_uuid }, unknown, { ...unknown, app_id: unknown.app_id + 1 }];
      expect(await new KnownRequests(store).filterUnknown(requests)).toEqual(requests.slice(1));
    });

    it('are known however many there are', async () => {
      const records = some(12_500);
      expect(await write(appId, records)).toHaveLength(12_500);
      expect(await write(appId, records)).toEqual([]);
      await expectCounted(12_500);
    });

    it('are looked up in statements that the store accepts, also when each other has an app of its own', async () => {
      const records = some(2);
      await writer.write(appId, records);
      const [first, last] = records.map(({ request_uuid }) => ({ app_id: appId, request_uuid }));
      const unknown = Array.from({ length: 24_000 }, (_, n) => ({
        app_id: 4_200_000_000 + n,
        request_uuid: randomUUID(),
      }));
      const requests = [first!, ...unknown, last!];
      expect(await new KnownRequests(store).filterUnknown(requests)).toEqual(unknown);
    });
  });

  it('keeps the status, and the exact time and sizes in the bins that the collector would find', async () => {
    const exact = [0, 1, 9, 10, 123, 30_000, 4_294_967_295];
    const sizes = [0, 1, 499, 1_000, 123_456_789, 2 ** 44 - 1, 2 ** 44];
    const records = exact.map((response_time_ms, index) =>
      buildRequest({
        consumer: { identifier: 'anna' },
        status_code: 200 + index,
        response_time_ms,
        request_size_bytes: sizes[index]!,
        response_size_bytes: sizes.at(-1 - index)!,
      }),
    );
    await writer.write(appId, records);
    const expected = records.flatMap(({ status_code, ...record }) => [
      [status_code, 'time', findBin(record.response_time_ms! / 1000), 1],
      [status_code, 'received', findBin(record.request_size_bytes!), 1],
      [status_code, 'sent', findBin(record.response_size_bytes!), 1],
    ]);
    for (const table of COUNTS_TABLES) {
      const bins = (await binsIn(table)).map(({ status_code, measure, k, n }) => [
        status_code,
        measure,
        k,
        n,
      ]);
      expect(bins.sort()).toEqual(expected.sort());
    }
  });

  it('counts requests whose time or sizes are not known, in no bin', async () => {
    const unknown = { response_time_ms: null, request_size_bytes: null, response_size_bytes: null };
    await writer.write(appId, some(3, unknown));
    for (const table of COUNTS_TABLES)
      expect([await requestsIn(table), await binsIn(table)]).toEqual([3, []]);
    const [{ record_json }] = (await rows(TRACES.logs!)) as [{ record_json: string }];
    expect(JSON.parse(`{${record_json}`)).toMatchObject({
      response_time_ms: null,
      response_size_bytes: null,
    });
  });

  it('counts all of several batches that are alike but for their UUIDs', async () => {
    const timestamp = Date.now() - 3_600_000;
    for (let batch = 0; batch < 3; batch++) await writer.write(appId, some(5, { timestamp }));
    await expectCounted(15);
  });

  it('writes nothing for nothing', async () => {
    expect(await write(appId, [])).toEqual([]);
  });

  it('counts static assets and health checks, and logs neither', async () => {
    await writer.write(appId, [...some(2), ...some(3, { excluded_from_logs: true })]);
    const { logs, ledger } = await traces('logs', 'ledger');
    expect([logs!.length, ledger!.length]).toEqual([2, 5]);
    await expectCounted(5);
  });

  it('stores details only if more than the trace ID was captured', async () => {
    const traced = EMPTY_CAPTURE_JSON.replace('"trace_id":null', `"trace_id":"${'4b'.repeat(16)}"`);
    const headers = traced.replace('"request_headers":[]', '"request_headers":[["x","1"]]');
    const logs = traced.replace('"logs":[]', '"logs":[{"message":"\\",\\"logs\\":[]"}]');
    await writer.write(
      appId,
      ['', traced, headers, logs].flatMap((captured_json) => some(1, { captured_json })),
    );
    const { details, logs: stored, ledger } = await traces('details', 'logs', 'ledger');
    expect(details!.map((row) => (row as { captured_json: string }).captured_json).sort()).toEqual(
      [headers, logs].sort(),
    );
    expect([stored!.length, ledger!.length]).toEqual([4, 4]);
  });

  it('counts what is older than the logs are kept, and does not log it', async () => {
    await writer.write(appId, some(2, { timestamp: Date.now() - 15 * 86_400_000 - 60_000 }));
    const { logs, details } = await traces('logs', 'details');
    expect([logs, details]).toEqual([[], []]);
    await expectCounted(2);
  });

  it('keeps no minutes of what is older than they are kept', async () => {
    await writer.write(appId, some(2, { timestamp: Date.now() - 32 * 86_400_000 - 60_000 }));
    expect(await rows(TRACES.counts_per_minute_v1!)).toEqual([]);
    expect([await requestsIn('counts_per_day_v1'), await requestsIn('counts_per_15m_v1')]).toEqual([2, 2]);
  });

  it('adds sums to the traffic alone, and the same sums once', async () => {
    const count: CountRecord = {
      timestamp: Date.now() - 3_600_000,
      env: 'prod',
      consumer: { identifier: 'anna' },
      method: 'GET',
      path: '/a',
      status_code: 200,
      requests: 40,
      bytes_received: 400,
      bytes_sent: 4_000,
      bins: [['time', -80, 40]],
    };
    const token = randomUUID().replaceAll('-', '');
    await writer.writeCounts(appId, [count, { ...count, path: '/b' }], token);
    await writer.writeCounts(appId, [count, { ...count, path: '/b' }], token);
    const { logs, details, consumers } = await traces('logs', 'details', 'consumers');
    expect([logs, details, consumers!.length]).toEqual([[], [], 1]);
    await expectCounted(80);
    const another = randomUUID().replaceAll('-', '');
    await writer.writeCounts(appId, [count, { ...count, path: '/b' }], another);
    await expectCounted(160);
  });

  describeEmbedded('at the end of an import', () => {
    it('leaves no rows of applied batches, and no part that a merge replaced, on the disk', async () => {
      for (let batch = 0; batch < 3; batch++) await writer.write(appId, some(20));
      await writer.close();
      await writer.removeReplaced();
      const [log] = await rows(
        `SELECT countIf(active) AS parts, countIf(NOT active) AS replaced,
          (SELECT count() FROM ingest_batches_v1 WHERE payload != ''
            AND batch_id IN (SELECT batch_id FROM ingest_batches_v1 WHERE applied = 1)) AS payloads
        FROM system.parts WHERE database = currentDatabase() AND table = 'ingest_batches_v1'`,
      );
      expect(log).toEqual({ parts: 1, replaced: 0, payloads: 0 });
    });
  });
});

function add(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
