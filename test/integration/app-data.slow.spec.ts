import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AdminError } from '../../src/ops/admin/admin.error.js';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { BatchLog } from '../../src/write/batch-log.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, createApp, openStore } from '../setup/store.js';

describe('Deletion of an app', () => {
  let open: OpenStore;
  let admin: Admin;

  beforeAll(async () => {
    open = await openStore();
    admin = createAdmin(open.store);
  });

  afterAll(() => open.remove());

  const createTeamId = async () => (await admin.teams.create('Acme', 'premium')).id;
  /** Everything in a table, as text: to look for what must not be there. */
  const dump = async (table: string) =>
    JSON.stringify(await open.store.rows('test.dump', `SELECT * FROM ${table}`));
  /** Tables that have rows of apps. */
  const listAppTables = async () =>
    (
      await open.store.rows<{ name: string }>(
        'test.tables',
        `SELECT name FROM system.tables WHERE database = currentDatabase() AND endsWith(engine, 'MergeTree')
            AND name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'app_id')`,
      )
    ).map(({ name }) => name);
  const countRows = async (appId: number) => {
    const counts: Record<string, number> = {};
    for (const table of await listAppTables()) {
      const sql = `SELECT count() AS rows FROM ${table} WHERE app_id = {app_id:UInt32}`;
      const [row] = await open.store.rows<{ rows: number }>('test.count', sql, { app_id: appId });
      counts[table] = row!.rows;
    }
    return counts;
  };
  /** A row of each app in each table, so young that no TTL removes it. */
  const fillTables = async (...appIds: number[]) => {
    for (const table of await listAppTables()) {
      const columns = await open.store.rows<{ name: string; value: string }>(
        'test.columns',
        `SELECT name,
            multiIf(endsWith(name, '_ns'), 'toUnixTimestamp64Nano(now64(9))', type LIKE '%Date%', 'now()', '1') AS value
          FROM system.columns
          WHERE database = currentDatabase() AND table = {table:String} AND default_kind = '' AND name != 'app_id'
            AND match(type, '^(SimpleAggregateFunction.min, |SimpleAggregateFunction.max, )?(Date|U?Int)')`,
        { table },
      );
      for (const appId of appIds)
        await open.store.command(
          `INSERT INTO ${table} (${['app_id', ...columns.map(({ name }) => name)].join()})
              SELECT ${[appId, ...columns.map(({ value }) => value)].join()}`,
        );
    }
  };
  const request = (n: number) =>
    buildRequest({
      path: `/mark/${n}`,
      url: 'https://example.com/the-mark',
      consumer: { identifier: `the-mark ${n}`, name: 'the-mark', group: `the-mark ${n}` },
      captured_json: '{"request_headers":[["x","the-mark"]]}',
    });

  const deleteApp = (appId: number, coordinator = new LocalCoordinator()) =>
    admin.apps.delete(appId, new BatchLog(open.store, coordinator), false);

  it('leaves nothing of it in any table, and everything of other apps', async () => {
    const teamId = await createTeamId();
    const [deleted, kept] = [
      await admin.apps.create(teamId, 'Shop', 'express'),
      await admin.apps.create(teamId, 'Other', 'express'),
    ];
    const writer = RequestsWriter.create(open.store);
    await writer.write(kept.id, [request(1), request(2)]);
    await writer.write(deleted.id, [request(1), request(3)]);
    await admin.writeTokens.create(deleted.id);
    await fillTables(deleted.id, kept.id);
    const before = await countRows(kept.id);
    expect(Object.entries(before).filter(([, rows]) => rows === 0)).toEqual([]);
    expect(Object.keys(before).length).toBeGreaterThan(25);

    expect(await deleteApp(deleted.id)).toEqual({ id: deleted.id, deleted: true });
    expect(Object.values(await countRows(deleted.id)).every((rows) => rows === 0)).toBe(true);
    expect(await countRows(kept.id)).toEqual(before);
    expect((await admin.teams.listApps(teamId)).map(({ id }) => id)).toEqual([kept.id]);
    expect(await dump('apps_v1')).not.toContain(deleted.client_id);
    const log = await dump('ingest_batches_v1');
    expect(log).not.toMatch(new RegExp(`"app_id\\W+${deleted.id}\\D`));
    await expect(deleteApp(deleted.id)).rejects.toThrow(AdminError);
    // What is replayed from the log brings nothing back.
    await RequestsWriter.create(open.store).recover(0);
    expect(await countRows(kept.id)).toEqual(before);
    expect(Object.values(await countRows(deleted.id)).every((rows) => rows === 0)).toBe(true);
    await deleteApp(kept.id);
  });

  it('does not use its ID or those of its names again', async () => {
    const teamId = await createTeamId();
    const { id } = await admin.apps.create(teamId, 'Shop', 'express');
    const write = (appId: number, n: number) => RequestsWriter.create(open.store).write(appId, [request(n)]);
    const [first] = await write(id, 7);
    await deleteApp(id);
    const next = await admin.apps.create(teamId, 'Shop', 'express');
    expect(next.id).toBeGreaterThan(id);
    const [second] = await write(next.id, 8);
    for (const name of ['app_env_id', 'endpoint_id', 'consumer_id'] as const)
      expect([name, second!.ids[name]]).toEqual([name, first!.ids[name] + 1]);
  });

  it('finds its rows in the log, in however many batches they are', async () => {
    const appId = await createApp(open.store);
    await open.store.command(
      `INSERT INTO ingest_batches_v1 (batch_id, piece, created_at, pieces, table_name, payload, applied)
          SELECT toUUID('00000000-0000-4000-8000-' || leftPad(toString(intDiv(number, 2)), 12, '0')), number % 2, now(), 1,
            'requests', if(number % 2 = 0, '', '["app_id"],[${appId}]'), number % 2 = 0
          FROM numbers(16000)`,
    );
    expect(await deleteApp(appId)).toEqual({ id: appId, deleted: true });
    expect(await dump('ingest_batches_v1')).not.toMatch(new RegExp(`app_id\\W+${appId}\\D`));
  });

  it('applies no batch while a backup pauses writes', async () => {
    const appId = await createApp(open.store);
    const id = randomUUID();
    const createdAt = Math.floor(Date.now() / 1000);
    const pieces = [{ table: 'requests' as const, rows: JSON.stringify({ app_id: appId }) }];
    await new BatchLog(open.store, new LocalCoordinator()).append({ id, createdAt, messages: [], pieces });
    const coordinator = new LocalCoordinator();
    const insert = jest.spyOn(open.store, 'insert');
    await coordinator.pauseWrites('backup', 60_000);
    const deletion = deleteApp(appId, coordinator);
    await pause(500);
    expect(insert).not.toHaveBeenCalled();
    await coordinator.resumeWrites('backup');
    await deletion;
    expect(insert).toHaveBeenCalledTimes(1);
    insert.mockRestore();
  });

  it('continues where an interruption ended it', async () => {
    const appId = await createApp(open.store);
    await RequestsWriter.create(open.store).write(appId, [request(1)]);
    const run = open.store.command.bind(open.store);
    const command = jest
      .spyOn(open.store, 'command')
      .mockImplementation((sql, ...rest) =>
        sql.includes('request_details_v1') ? Promise.reject(new Error('killed')) : run(sql, ...rest),
      );
    await expect(deleteApp(appId)).rejects.toThrow('killed');
    command.mockRestore();
    expect((await countRows(appId)).request_details_v1).toBe(1);
    expect(await deleteApp(appId)).toEqual({ id: appId, deleted: true });
    expect(Object.values(await countRows(appId)).every((rows) => rows === 0)).toBe(true);
  });
});
