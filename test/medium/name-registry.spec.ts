import { AdminService } from '../../src/admin/admin.service.js';
import type { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import type { ConsumerRecord } from '../../src/ingestion/request-record.js';
import { RequestsWriter } from '../../src/ingestion/requests.writer.js';
import { aRequest } from '../factories/request.factory.js';
import { type OpenStore, anApp, openStore, reopen } from '../setup/store.js';

/** The names that requests bring along: environments, endpoints, consumers and groups. */
describe('NameRegistry', () => {
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

  /** As another process would go on. */
  const restart = async () => {
    store = await reopen(open);
    writer = new RequestsWriter(store);
  };
  const rows = (sql: string) => store.rows<object>('test.names', sql, { app_id: appId });

  describe('IDs', () => {
    const ids = async (table: string) => {
      const sql = `SELECT DISTINCT id FROM ${table} WHERE app_id = {app_id:UInt32} ORDER BY id`;
      return ((await rows(sql)) as { id: number }[]).map(({ id }) => id);
    };
    const TABLES = ['app_envs_v1', 'endpoints_v1', 'consumers_v1', 'consumer_groups_v1'];
    const named = (name: string) =>
      aRequest({ env: name, path: `/${name}`, consumer: { identifier: name, group: name } });

    it('are given in the order in which names are met, ascending, and none twice, over restarts too', async () => {
      const met: Record<string, number[]> = Object.fromEntries(TABLES.map((table) => [table, []]));
      for (const names of [
        ['a', 'b'],
        ['b', 'c'],
        ['a', 'd', 'e'],
      ]) {
        await writer.write(appId, names.map(named));
        for (const table of TABLES) {
          const now = await ids(table);
          expect(now.slice(0, met[table]!.length)).toEqual(met[table]);
          met[table] = now;
        }
        await restart();
      }
      for (const table of TABLES) expect(met[table]).toHaveLength(5);
    });

    it('are not those of another app, whose names are its own', async () => {
      await writer.write(appId, [named('a')]);
      const before = await Promise.all(TABLES.map(ids));
      appId = (await new AdminService(store).createApp(1, 'Other', 'express')).id;
      await writer.write(appId, [named('a')]);
      const after = await Promise.all(TABLES.map(ids));
      for (const [index, [id]] of after.entries()) expect(id).toBeGreaterThan(before[index]![0]!);
    });

    it('are one for each name, also where writes meet it at the same time', async () => {
      const batches = Array.from({ length: 6 }, () => ['a', 'b', 'c'].map(named));
      await Promise.all(batches.map((batch) => writer.write(appId, batch)));
      for (const table of TABLES) expect(await ids(table)).toHaveLength(3);
    });

    it('tell endpoints of one path and two methods apart', async () => {
      await writer.write(appId, [aRequest({ method: 'GET' }), aRequest({ method: 'POST' }), aRequest()]);
      expect(await ids('endpoints_v1')).toHaveLength(2);
    });
  });

  describe('a consumer', () => {
    const CONSUMER = `
      SELECT c.id AS id, c.name AS name, g.name AS group, c.created_at AS created_at
      FROM consumers_v1 AS c FINAL LEFT JOIN consumer_groups_v1 AS g FINAL ON g.app_id = c.app_id AND g.id = c.group_id
      WHERE c.app_id = {app_id:UInt32} AND c.identifier = 'anna'`;
    const seen = async (...said: Omit<ConsumerRecord, 'identifier'>[]) => {
      await writer.write(
        appId,
        said.map((one) => aRequest({ consumer: { identifier: 'anna', ...one } })),
      );
      const found = (await rows(CONSUMER)) as {
        id: number;
        name: string;
        group: string;
        created_at: string;
      }[];
      expect(found).toHaveLength(1);
      return found[0]!;
    };

    it('has its identifier as its name until one is given, and is renamed under its ID', async () => {
      const first = await seen({});
      expect(first).toMatchObject({ name: 'anna', group: '' });
      expect(await seen({ name: 'Anna' })).toEqual({ ...first, name: 'Anna' });
      expect(await seen({ name: 'Anna B.' })).toEqual({ ...first, name: 'Anna B.' });
    });

    it('keeps what a request does not say of it, over restarts too', async () => {
      const first = await seen({ name: 'Anna', group: 'Partners' });
      await restart();
      expect(await seen({})).toEqual(first);
      expect(await seen({ name: 'Anna B.' })).toEqual({ ...first, name: 'Anna B.' });
      await restart();
      expect(await seen({ group: 'Staff' })).toEqual({ ...first, name: 'Anna B.', group: 'Staff' });
    });

    it('is what the last request of a batch says', async () => {
      expect(await seen({ name: 'A', group: 'X' }, { name: 'B' }, { group: 'Y' }, {})).toMatchObject({
        name: 'B',
        group: 'Y',
      });
    });
  });

  it('leaves the mark of an excluded endpoint alone', async () => {
    await writer.write(appId, [aRequest({ path: '/a' })]);
    await new AdminService(store).setExcluded(appId, 'GET', '/a', true);
    await writer.write(appId, [aRequest({ path: '/a' }), aRequest({ path: '/b' })]);
    await restart();
    await writer.write(appId, [aRequest({ path: '/a' })]);
    const sql = 'SELECT path, excluded FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY path';
    expect(await rows(sql)).toEqual([
      { path: '/a', excluded: true },
      { path: '/b', excluded: false },
    ]);
  });
});
