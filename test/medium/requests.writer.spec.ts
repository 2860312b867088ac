import { randomUUID } from 'node:crypto';
import { AdminService } from '../../src/admin/admin.service.js';
import type { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import type { CountRecord, RequestRecord } from '../../src/ingestion/request-record.js';
import { prepareStore } from '../../src/ingestion/prepare-store.js';
import { RequestsWriter } from '../../src/ingestion/requests.writer.js';
import { aRequest } from '../factories/request.factory.js';
import { type OpenStore, anApp, openStore, reopen } from '../setup/store.js';

/** All that requests leave behind, and how to read it so that merges in the background make no difference. */
const TRACES: Record<string, string> = {
  logs: 'SELECT * FROM request_logs_v1 WHERE app_id = {app_id:UInt32} ORDER BY request_uuid',
  details: 'SELECT * FROM request_details_v1 WHERE app_id = {app_id:UInt32} ORDER BY request_uuid',
  ...Object.fromEntries(
    ['counts_per_15m', 'counts_per_hour', 'counts_per_day', 'counts_per_15m_by_consumer'].map((table) => [
      table,
      `SELECT bucket, app_env_id, endpoint_id, sum(t.requests) AS requests, sum(t.bytes_received) AS bytes_received,
         sum(t.bytes_sent) AS bytes_sent
       FROM ${table}_v1 AS t WHERE app_id = {app_id:UInt32} GROUP BY ALL ORDER BY ALL`,
    ]),
  ),
  consumers: `SELECT consumer_id, max(last_request_at) FROM consumer_activity_v1
    WHERE app_id = {app_id:UInt32} GROUP BY ALL ORDER BY ALL`,
  endpoints: `SELECT app_env_id, endpoint_id, max(last_request_at) FROM endpoint_activity_v1
    WHERE app_id = {app_id:UInt32} GROUP BY ALL ORDER BY ALL`,
  names: `SELECT 'env', id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}
    UNION ALL SELECT method, id, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}
    UNION ALL SELECT name, id, identifier FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY ALL`,
};
const TRAFFIC = ['counts_per_15m', 'counts_per_hour', 'counts_per_day'];

interface Sums {
  requests: number;
  bytes_received: number;
  bytes_sent: number;
}

describe('RequestsWriter', () => {
  let open: OpenStore;
  let store: ClickHouse;
  let writer: RequestsWriter;
  let appId: number;

  beforeAll(async () => {
    open = await openStore();
    ({ store } = open);
    writer = new RequestsWriter(store);
  });

  beforeEach(async () => {
    appId = await anApp(store);
  });

  afterAll(() => open.remove());

  /** As another process, or this one after a crash, would go on. */
  const restart = async () => {
    store = await reopen(open);
    await prepareStore(store);
    writer = new RequestsWriter(store);
    await writer.recover(0);
  };
  const write = async (app: number, records: readonly RequestRecord[]) =>
    (await writer.write(app, records)).map(({ record }) => record);
  const rows = (sql: string, app_id = appId) => store.rows<object>('test.traces', sql, { app_id });
  const traces = async () => {
    const found = Object.entries(TRACES).map(async ([name, sql]) => [name, await rows(sql)] as const);
    return Object.fromEntries(await Promise.all(found));
  };
  const requestsIn = async (table: string) =>
    ((await rows(TRACES[table]!)) as Sums[]).reduce((sum, { requests }) => sum + requests, 0);
  const some = (count: number, overrides: Partial<RequestRecord> = {}) =>
    Array.from({ length: count }, (_, n) =>
      aRequest({
        consumer: { identifier: `consumer ${n % 3}` },
        path: `/path/${n % 4}`,
        request_size_bytes: n,
        ...overrides,
      }),
    );

  describe('the same requests again', () => {
    it('change nothing: not the logs, the details, the traffic, nor the activity', async () => {
      const records = some(20);
      expect(await write(appId, records)).toEqual(records);
      const before = await traces();
      expect([before.logs!.length, before.details!.length]).toEqual([20, 20]);
      for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(20);
      expect(await write(appId, records)).toEqual([]);
      await restart();
      expect(await write(appId, [...records].reverse())).toEqual([]);
      expect(await traces()).toEqual(before);
    });

    it('count once where they come in other batches, beside new ones', async () => {
      const records = some(30);
      await writer.write(appId, records.slice(0, 20));
      expect(await write(appId, records.slice(10))).toEqual(records.slice(20));
      expect((await traces()).logs).toHaveLength(30);
      for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(30);
    });

    it('count once where they stand twice in one batch: the first', async () => {
      const [one, other] = some(2);
      const twice = { ...one!, url: 'again' };
      expect(await write(appId, [one!, other!, twice, one!])).toEqual([one, other]);
      const { logs } = await traces();
      const urls = logs!.map(
        (row) => (JSON.parse(`{${(row as { record: string }).record}`) as RequestRecord).url,
      );
      expect(urls).toEqual([one!.url, other!.url]);
      for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(2);
    });

    it('are counted once after a crash in the middle of a batch, in whichever batches they come again', async () => {
      const records = some(25);
      const [{ create }] = (await rows(
        `SELECT create_table_query AS create FROM system.tables
         WHERE name = 'counts_per_day_mv_v1' AND database = currentDatabase()`,
      )) as [{ create: string }];
      // A table that the batch did not reach before the crash, and a log without the mark that would say so.
      await store.command('DROP VIEW counts_per_day_mv_v1');
      await writer.write(appId, records.slice(0, 20));
      await store.command(create);
      expect(await requestsIn('counts_per_day')).toBe(0);
      await restart();
      expect(await write(appId, records.slice(3))).toEqual(records.slice(20));
      expect((await traces()).logs).toHaveLength(25);
      for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(25);
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
      for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(15);
    });

    it('are counted once where two writers have them at the same time', async () => {
      const records = some(200);
      const other = new RequestsWriter(store);
      const written = await Promise.all([
        writer.write(appId, records),
        other.write(appId, [...records].reverse()),
        writer.write(appId, records.slice(50, 150)),
      ]);
      expect(written.flat()).toHaveLength(200);
      expect((await traces()).logs).toHaveLength(200);
      for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(200);
    });

    it('are other requests in another app', async () => {
      const records = some(3);
      await writer.write(appId, records);
      const { id } = await new AdminService(store).createApp(1, 'Other', 'express');
      expect(await write(id, records)).toEqual(records);
      expect(await rows(TRACES.logs!, id)).toHaveLength(3);
    });

    it('are known however many there are', async () => {
      const records = some(11_000);
      expect(await write(appId, records)).toHaveLength(11_000);
      expect(await write(appId, records)).toEqual([]);
      expect(await requestsIn('counts_per_day')).toBe(11_000);
    });
  });

  it('counts all of several batches that are alike but for their UUIDs', async () => {
    const timestamp = Date.now() - 3_600_000;
    for (let batch = 0; batch < 3; batch++) await writer.write(appId, some(5, { timestamp }));
    for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(15);
  });

  it('writes nothing for nothing', async () => {
    expect(await write(appId, [])).toEqual([]);
  });

  it('counts static assets and health checks, and logs neither', async () => {
    await writer.write(appId, [...some(2), ...some(3, { is_noise: true })]);
    const { logs, details } = await traces();
    expect([logs!.length, details!.length]).toEqual([2, 2]);
    for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(5);
  });

  it('counts what is older than the logs are kept, and does not log it', async () => {
    await writer.write(appId, some(2, { timestamp: Date.now() - 15 * 86_400_000 - 60_000 }));
    const { logs, details } = await traces();
    expect([logs, details]).toEqual([[], []]);
    for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(2);
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
    const { logs, details, consumers } = await traces();
    expect([logs, details, consumers!.length]).toEqual([[], [], 1]);
    for (const table of [...TRAFFIC, 'counts_per_15m_by_consumer']) expect(await requestsIn(table)).toBe(80);
    const another = randomUUID().replaceAll('-', '');
    await writer.writeCounts(appId, [count, { ...count, path: '/b' }], another);
    for (const table of TRAFFIC) expect(await requestsIn(table)).toBe(160);
  });
});
