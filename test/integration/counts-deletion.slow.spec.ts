import { setTimeout as pause } from 'node:timers/promises';
import { AdminError } from '../../src/ops/admin/admin.error.js';
import { CountsDeletion } from '../../src/ops/admin/counts-deletion.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, createApp, openStore } from '../setup/store.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const GRAINS = ['minute', '15m', '15m_by_consumer', 'hour', 'day'];

type Sums = Record<string, unknown[]>;

describe('Deletion of counts', () => {
  let open: OpenStore;
  /** 48 hours of UTC, from a midnight on. */
  const first = (Math.floor(Date.now() / DAY_MS) - 4) * DAY_MS;
  const hour = (n: number) => first + n * HOUR_MS;

  beforeAll(async () => {
    open = await openStore();
  });

  afterAll(() => open.remove());

  /** In each of those hours a request of a consumer and one of none, but in hours that are left out. */
  async function fill(isLeftOut: (hour: number) => boolean = () => false): Promise<number> {
    const appId = await createApp(open.store);
    const hours = [...Array(48).keys()].filter((n) => !isLeftOut(n));
    const records = hours.flatMap((n) =>
      [null, { identifier: `consumer ${n % 2}` }].map((consumer) =>
        buildRequest({
          timestamp: hour(n) + 1_000,
          consumer,
          status_code: 200 + (n % 3),
          request_size_bytes: 3 ** (n % 12),
          response_time_ms: 2 ** (n % 12),
          captured_json: '{"request_headers":[["x","1"]]}',
        }),
      ),
    );
    await RequestsWriter.create(open.store).write(appId, records);
    return appId;
  }

  /** The sums of each table of counts, by its buckets. */
  async function readSums(appId: number): Promise<Sums> {
    const sums: Sums = {};
    for (const grain of GRAINS)
      sums[grain] = await open.store.rows(
        'test.counts',
        `SELECT bucket, status_code, measure, k, sum(t.n) AS n, sum(bytes_received) AS received, sum(bytes_sent) AS sent
          FROM counts_per_${grain}_v1 AS t WHERE app_id = {app_id:UInt32} GROUP BY ALL HAVING n > 0 ORDER BY ALL`,
        { app_id: appId },
      );
    return sums;
  }

  const countRows = async (table: string, appId: number) => {
    const sql = `SELECT count() AS rows FROM ${table} WHERE app_id = {app_id:UInt32}`;
    const [row] = await open.store.rows<{ rows: number }>('test.rows', sql, { app_id: appId });
    return row!.rows;
  };

  const createDeletion = (appId: number, from: number, to: number, withLogs = false) =>
    new CountsDeletion(open.store, { appId, since: hour(from), until: hour(to), withLogs });

  it.each([
    ['some hours of a day', 3, 7],
    ['hours of two days', 20, 30],
    ['a whole day', 24, 48],
    ['everything', -24, 72],
  ])('leaves of %s nothing in any table, and everything else as it is', async (_, from, to) => {
    const expected = await readSums(await fill((n) => n >= from && n < to));
    const [appId, otherId] = [await fill(), await fill()];
    const before = await readSums(appId);
    const deletion = createDeletion(appId, from, to);
    const described = await deletion.describe();
    expect(await readSums(appId)).toEqual(before);
    const deleted = await deletion.run(new LocalCoordinator());
    expect(deleted).toEqual(described);
    const hours = Math.min(to, 48) - Math.max(from, 0);
    expect(deleted).toMatchObject({ app_id: appId, requests: 2 * hours, bytes_sent: 200 * hours });
    // The requests of an hour, their times and both sizes have a row each.
    expect(deleted.tables.find(({ table }) => table === 'counts_per_hour_v1')).toEqual({
      table: 'counts_per_hour_v1',
      rows: 4 * hours,
    });
    expect(await readSums(appId)).toEqual(expected);
    expect(await readSums(otherId)).toEqual(before);
    expect(await countRows('request_logs_v1', appId)).toBe(96);
    // Again: nothing is left to delete, and nothing else changes.
    expect(await createDeletion(appId, from, to).run(new LocalCoordinator())).toMatchObject({ requests: 0 });
    expect(await readSums(appId)).toEqual(expected);
  });

  it('deletes what was logged in the window only on request', async () => {
    const appId = await fill();
    const at = (n: number) => `${hour(n)}000000`;
    for (const n of [3, 9])
      for (const [table, time] of [
        ['spans_v1', 'start_time_ns'],
        ['application_logs_v1', 'timestamp_ns'],
      ] as const)
        await open.store.insert(table, [JSON.stringify({ app_id: appId, [time]: at(n) })]);
    await createDeletion(appId, 3, 7, true).run(new LocalCoordinator());
    const remaining: Record<string, number> = {};
    for (const table of ['request_logs_v1', 'request_details_v1', 'spans_v1', 'application_logs_v1'])
      remaining[table] = await countRows(table, appId);
    expect(remaining).toEqual({
      request_logs_v1: 88,
      request_details_v1: 88,
      spans_v1: 1,
      application_logs_v1: 1,
    });
  });

  it.each([
    ['counts of spans that are still to be added', 'pending_counts_v1', { received_at: hour(48) }],
    ['what spans may still take of the counts', 'unassigned_requests_v1', { ends_at: hour(48) }],
  ])('deletes %s', async (_, table, more) => {
    const appId = await createApp(open.store);
    const row = (n: number) => JSON.stringify({ app_id: appId, ...more, timestamp: hour(n), requests: 1 });
    await open.store.insert(table, [row(3), row(9)]);
    await createDeletion(appId, 3, 7).run(new LocalCoordinator());
    expect(await countRows(table, appId)).toBe(1);
  });

  it('counts each request that is written meanwhile in all tables, or in none', async () => {
    const appId = await fill();
    const coordinator = new LocalCoordinator();
    const writer = RequestsWriter.create(open.store, coordinator);
    const state = { isRunning: true };
    let written = 0;
    const writing = (async () => {
      while (state.isRunning) {
        await writer.write(appId, [
          buildRequest({ timestamp: hour(5), response_time_ms: 7 }),
          buildRequest({ timestamp: hour(12), response_time_ms: 7 }),
        ]);
        written++;
      }
    })();
    await pause(200);
    await createDeletion(appId, 3, 7).run(coordinator);
    await pause(200);
    state.isRunning = false;
    await writing;
    const sums = await readSums(appId);
    const total = (of: string, grain: string, from: number, to: number) =>
      (sums[grain] as { bucket: string; n: number; measure: string }[])
        .filter(({ bucket, measure }) => {
          const time = Date.parse(bucket);
          return measure === of && time >= hour(from) && time < hour(to);
        })
        .reduce((sum, { n }) => sum + n, 0);
    const [kept, late] = [total('requests', 'hour', 12, 13), total('requests', 'hour', 3, 7)];
    expect(kept).toBe(2 + written);
    expect(late).toBeLessThan(written);
    for (const measure of ['requests', 'time']) {
      for (const grain of ['minute', '15m', 'hour']) {
        expect([measure, grain, total(measure, grain, 12, 13)]).toEqual([measure, grain, kept]);
        expect([measure, grain, total(measure, grain, 3, 7)]).toEqual([measure, grain, late]);
      }
      expect([measure, total(measure, 'day', 0, 24)]).toEqual([measure, 48 - 8 - 2 + kept + late]);
    }
  });

  it('is completed by the same command after it was interrupted at any statement', async () => {
    const expected = await readSums(await fill((n) => n >= 20 && n < 30));
    const appId = await fill();
    const run = open.store.command.bind(open.store);
    for (let isComplete = false, statements = 0; !isComplete; statements++) {
      let remaining = statements;
      const command = jest.spyOn(open.store, 'command').mockImplementation((sql, ...rest) => {
        if (!sql.includes('DELETE') && !sql.includes('_per_day_')) return run(sql, ...rest);
        return remaining-- === 0 ? Promise.reject(new Error('killed')) : run(sql, ...rest);
      });
      isComplete = await createDeletion(appId, 20, 30)
        .run(new LocalCoordinator())
        .then(
          () => true,
          () => false,
        );
      command.mockRestore();
      if (isComplete) expect(statements).toBeGreaterThan(15);
    }
    expect(await readSums(appId)).toEqual(expected);
  });

  it.each([
    ['since must be a whole hour in UTC', 0.5, 2],
    ['until must be a whole hour in UTC', 0, 1.25],
    ['since must be before until', 2, 2],
  ])('refuses a window: %s', (message, from, to) => {
    expect(() => createDeletion(1, from, to)).toThrow(new AdminError(message));
  });
});
