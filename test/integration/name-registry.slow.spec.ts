import { createAdmin } from '../../src/ops/admin/admin.js';
import { SocketConnection } from '../../src/coordination/socket/socket.connection.js';
import { StoreSocket } from '../../src/coordination/socket/store-socket.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { NameRegistry } from '../../src/records/names/name-registry.js';
import type { ConsumerRecord } from '../../src/records/request-record.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, createApp, openStore, reopen } from '../setup/store.js';

/** The names that requests bring along: environments, endpoints, consumers and groups. */
describe('NameRegistry', () => {
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

  /** As another process would go on. */
  const restart = async () => {
    store = await reopen(open);
    writer = RequestsWriter.create(store);
  };
  const rows = (sql: string) => store.rows<object>('test.names', sql, { app_id: appId });

  describe('IDs', () => {
    const ids = async (table: string) => {
      const sql = `SELECT DISTINCT id FROM ${table} WHERE app_id = {app_id:UInt32} ORDER BY id`;
      return ((await rows(sql)) as { id: number }[]).map(({ id }) => id);
    };
    const TABLES = ['app_envs_v1', 'endpoints_v1', 'consumers_v1', 'consumer_groups_v1'];
    const named = (name: string) =>
      buildRequest({ env: name, path: `/${name}`, consumer: { identifier: name, group: name } });

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
      appId = (await createAdmin(store).apps.create(1, 'Other', 'express')).id;
      await writer.write(appId, [named('a')]);
      const after = await Promise.all(TABLES.map(ids));
      for (const [index, [id]] of after.entries()) expect(id).toBeGreaterThan(before[index]![0]!);
    });

    it('are one for each name, also where writes meet it at the same time', async () => {
      const batches = Array.from({ length: 6 }, () => ['a', 'b', 'c'].map(named));
      await Promise.all(batches.map((batch) => writer.write(appId, batch)));
      for (const table of TABLES) expect(await ids(table)).toHaveLength(3);
    });

    it('distinguish endpoints with one path and two methods', async () => {
      await writer.write(appId, [
        buildRequest({ method: 'GET' }),
        buildRequest({ method: 'POST' }),
        buildRequest(),
      ]);
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
        said.map((members) => buildRequest({ consumer: { identifier: 'anna', ...members } })),
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

    it('keeps what it is described as where another writer registers its name alone at the same time', async () => {
      const shared = new LocalCoordinator();
      const [anna, described] = [
        { identifier: 'anna' },
        { identifier: 'anna', name: 'Anna', group: 'Partners' },
      ];
      const first = RequestsWriter.create(store, shared);
      class Overtaken extends LocalCoordinator {
        override async allocateIds(sequence: string, names: readonly string[], highest?: number) {
          if (sequence === 'consumers_v1') await first.write(appId, [buildRequest({ consumer: described })]);
          return shared.allocateIds(sequence, names, highest);
        }
      }
      const overtaken = RequestsWriter.create(store, new Overtaken());
      await overtaken.write(appId, [buildRequest({ consumer: anna })]);
      expect(await seen()).toMatchObject({ name: 'Anna', group: 'Partners' });
    });

    it('is what the last report says, also where a command and the server take turns', async () => {
      const coordinator = new LocalCoordinator();
      const server = RequestsWriter.create(store, coordinator);
      const socket =
        store.kind === 'embedded' ? await StoreSocket.listen(open.config.dataDir, store, coordinator) : null;
      const connection = socket && (await SocketConnection.connect(open.config.dataDir));
      const other = connection
        ? ClickHouse.openSocket(open.config, connection)
        : await ClickHouse.open(open.config);
      const command = RequestsWriter.create(other, connection?.coordinator ?? coordinator);
      const by = (reporter: RequestsWriter, said: Omit<ConsumerRecord, 'identifier'>) => {
        writer = reporter;
        return seen(said);
      };
      try {
        await by(server, { name: 'Anna', group: 'Partners' });
        expect(await by(command, { name: 'Anna B.' })).toMatchObject({ name: 'Anna B.', group: 'Partners' });
        expect(await by(server, { group: 'Staff' })).toMatchObject({ name: 'Anna B.', group: 'Staff' });
        for (let time = 0; time < 2; time += 1) {
          const [older, newer] = [
            { name: 'Anna', group: 'Partners' },
            { name: 'Anna B.', group: 'Staff' },
          ];
          expect(await by(server, older)).toMatchObject(older);
          expect(await by(command, newer)).toMatchObject(newer);
          expect(await by(server, {})).toMatchObject(newer);
        }
      } finally {
        await other.close();
        await socket?.close();
      }
    });

    it('is looked up once while no other process writes', async () => {
      await seen({ name: 'Anna', group: 'Partners' });
      const lookups = jest.spyOn(store, 'rows');
      for (const name of ['Anna', 'Anna B.', 'Anna B.'])
        await writer.write(appId, [buildRequest({ consumer: { identifier: 'anna', name } })]);
      const found = lookups.mock.calls.filter(([name]) => name === 'names.find');
      lookups.mockRestore();
      expect(found).toHaveLength(store.kind === 'embedded' ? 0 : 3);
    });

    it('is what the last request of a batch says', async () => {
      expect(await seen({ name: 'A', group: 'X' }, { name: 'B' }, { group: 'Y' }, {})).toMatchObject({
        name: 'B',
        group: 'Y',
      });
    });
  });

  it('leaves the mark of an excluded endpoint alone', async () => {
    await writer.write(appId, [buildRequest({ path: '/a' })]);
    await createAdmin(store).endpoints.setExcluded(appId, 'GET', '/a', true);
    await writer.write(appId, [buildRequest({ path: '/a' }), buildRequest({ path: '/b' })]);
    await restart();
    await writer.write(appId, [buildRequest({ path: '/a' })]);
    const sql = 'SELECT path, excluded FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY path';
    expect(await rows(sql)).toEqual([
      { path: '/a', excluded: true },
      { path: '/b', excluded: false },
    ]);
  });

  describe('a path that was made from a URL', () => {
    const probe = (path: string, status_code: number) =>
      buildRequest({ path, is_path_inferred: true, status_code, env: 'prod' });
    const traffic = async () =>
      rows(`SELECT e.path AS path, toUInt32(sum(t.n)) AS requests FROM counts_per_day_v1 AS t
            LEFT JOIN endpoints_v1 AS e FINAL ON e.app_id = t.app_id AND e.id = t.endpoint_id
            WHERE t.app_id = {app_id:UInt32} AND measure = 'requests' GROUP BY path ORDER BY path`);

    it('makes no endpoint while all its responses are 404 or 405; its requests are counted', async () => {
      await writer.write(appId, [probe('/wp-login.php', 404), probe('/.env', 405), probe('/users', 200)]);
      expect(await traffic()).toEqual([
        { path: '', requests: 2 },
        { path: '/users', requests: 1 },
      ]);
    });

    it.each([
      ['in one batch', [3]],
      ['in batches of their own', [1, 1, 1]],
    ])('counts 404 under the endpoint from the first other response on, %s', async (_, sizes) => {
      const requests = [probe('/users/{id}', 404), probe('/users/{id}', 200), probe('/users/{id}', 404)];
      for (const size of sizes) {
        await writer.write(appId, requests.splice(0, size));
        await restart();
      }
      expect(await traffic()).toEqual([
        { path: '', requests: 1 },
        { path: '/users/{id}', requests: 2 },
      ]);
    });

    it('is an endpoint with any status when the source names the route', async () => {
      await writer.write(appId, [buildRequest({ path: '/named', status_code: 404 })]);
      expect(await traffic()).toEqual([{ path: '/named', requests: 1 }]);
    });
  });

  describe('beyond the limits of its app', () => {
    const LIMITS = { endpoints: 3, consumers: 2, consumer_groups: 1, environments: 2 };
    const request = (n: number) =>
      buildRequest({ path: `/${n}`, consumer: { identifier: `c${n}`, group: `g${n}` }, env: `e${n}` });
    const names = async (table: string, column: string) => {
      const sql = `SELECT ${column} AS name FROM ${table} FINAL WHERE app_id = {app_id:UInt32} ORDER BY id`;
      return ((await rows(sql)) as { name: string }[]).map(({ name }) => name);
    };

    it('is counted under *, and no request is lost', async () => {
      await createAdmin(store).apps.setNameLimits(appId, LIMITS);
      await writer.write(
        appId,
        Array.from({ length: 3 }, (_, n) => request(n)),
      );
      await restart();
      const written = await writer.write(
        appId,
        Array.from({ length: 10 }, (_, n) => request(n)),
      );
      expect(written).toHaveLength(10);
      expect(written.slice(1, 4).map(({ overflow }) => overflow)).toEqual([
        ['consumerGroups'],
        ['environments', 'consumers', 'consumerGroups'],
        ['environments', 'endpoints', 'consumers', 'consumerGroups'],
      ]);
      expect(await names('endpoints_v1', 'path')).toEqual(['/0', '/1', '/2', '*']);
      expect(await names('consumers_v1', 'identifier')).toEqual(['c0', 'c1', '*']);
      expect(await names('consumer_groups_v1', 'name')).toEqual(['g0', '*']);
      expect(await names('app_envs_v1', 'name')).toEqual(['e0', 'e1', '*']);
      const sums = (await rows(
        `SELECT e.path AS path, toUInt32(sum(t.n)) AS requests FROM counts_per_day_v1 AS t
         INNER JOIN endpoints_v1 AS e FINAL ON e.id = t.endpoint_id
         WHERE t.app_id = {app_id:UInt32} AND measure = 'requests' GROUP BY path ORDER BY path`,
      )) as { path: string; requests: number }[];
      expect(sums).toEqual([
        { path: '*', requests: 7 },
        { path: '/0', requests: 2 },
        { path: '/1', requests: 2 },
        { path: '/2', requests: 2 },
      ]);
      const [log] = (await rows(
        `SELECT record_json FROM request_logs_v1 WHERE app_id = {app_id:UInt32} AND endpoint_id IN
         (SELECT id FROM endpoints_v1 WHERE path = '*') LIMIT 1`,
      )) as { record_json: string }[];
      expect(JSON.parse(`{${log!.record_json}`)).toMatchObject({ env: '*', consumer: '*', path: '*' });
    });

    it('is counted under * first where it was made from a URL: half of the limit stays for routes', async () => {
      await createAdmin(store).apps.setNameLimits(appId, { ...LIMITS, endpoints: 6 });
      const inferred = (path: string) => buildRequest({ path, is_path_inferred: true, status_code: 200 });
      const route = (path: string) => buildRequest({ path });
      const overflowing = async (...requests: ReturnType<typeof route>[]) => {
        const written = await writer.write(appId, requests);
        return written.filter(({ overflow }) => overflow?.includes('endpoints')).length;
      };
      // In one batch the routes come first, and a path that is a route as well is one.
      expect(
        await overflowing(
          inferred('/a'),
          inferred('/b'),
          inferred('/c'),
          inferred('/r1'),
          route('/r1'),
          route('/r2'),
        ),
      ).toBe(2);
      await restart();
      expect(await overflowing(inferred('/d'), inferred('/a'))).toBe(1);
      expect(await overflowing(route('/r3'), route('/r4'), route('/r5'), route('/r6'))).toBe(1);
      expect(await names('endpoints_v1', 'path')).toEqual(['/a', '/r1', '/r2', '*', '/r3', '/r4', '/r5']);
    });

    it('is * in the log of a request without an endpoint as well', async () => {
      await createAdmin(store).apps.setNameLimits(appId, LIMITS);
      await writer.write(
        appId,
        Array.from({ length: 2 }, (_, n) => request(n)),
      );
      const probe = { ...request(2), path: '/.env', is_path_inferred: true, status_code: 404 };
      const [written] = await writer.write(appId, [probe]);
      expect(written?.overflow).toEqual(['environments', 'consumers', 'consumerGroups']);
      const [log] = (await rows(
        `SELECT record_json FROM request_logs_v1 WHERE app_id = {app_id:UInt32} AND endpoint_id = 0`,
      )) as { record_json: string }[];
      expect(JSON.parse(`{${log?.record_json}`)).toMatchObject({ env: '*', consumer: '*', path: null });
    });

    it('is registered once the limit is higher', async () => {
      await createAdmin(store).apps.setNameLimits(appId, LIMITS);
      await writer.write(
        appId,
        Array.from({ length: 5 }, (_, n) => request(n)),
      );
      await createAdmin(store).apps.setNameLimits(appId, { endpoints: 0, environments: 0, consumers: 3 });
      await restart();
      await writer.write(appId, [request(7)]);
      expect(await names('endpoints_v1', 'path')).toEqual(['/0', '/1', '/2', '*', '/7']);
      expect(await names('consumers_v1', 'identifier')).toEqual(['c0', 'c1', '*', 'c7']);
      expect(await names('app_envs_v1', 'name')).toEqual(['e0', 'e1', '*', 'e7']);
      expect(await names('consumer_groups_v1', 'name')).toEqual(['g0', '*']);
    });

    it('costs other apps nothing: their names are their own', async () => {
      await createAdmin(store).apps.setNameLimits(appId, LIMITS);
      await writer.write(
        appId,
        Array.from({ length: 5 }, (_, n) => request(n)),
      );
      appId = (await createAdmin(store).apps.create(1, 'Other', 'express')).id;
      await writer.write(
        appId,
        Array.from({ length: 5 }, (_, n) => request(n)),
      );
      expect(await names('endpoints_v1', 'path')).toEqual(['/0', '/1', '/2', '/3', '/4']);
    });
  });

  it('finds names again that are too many for the cache or for one look-up', async () => {
    const many = Array.from({ length: 9_000 }, (_, n) =>
      buildRequest({ path: `/${'long'.repeat(20)}/${n}` }),
    );
    await writer.write(appId, many);
    await restart();
    await writer.write(
      appId,
      many.map(({ path }) => buildRequest({ path })),
    );
    const sql = 'SELECT toUInt32(count()) AS n FROM endpoints_v1 WHERE app_id = {app_id:UInt32}';
    expect(await rows(sql)).toEqual([{ n: 9_000 }]);
  });

  it('does not register a path that must not be, and finds it where it is', async () => {
    const names = NameRegistry.create(store);
    const { timestamp } = buildRequest();
    const named = { env: 'prod', method: 'GET', consumer: null, timestamp };
    const [unknown] = await names.resolve(appId, [{ ...named, path: '/a', registersPath: false }]);
    expect(unknown).toMatchObject({ record: { path: null }, ids: { endpoint_id: 0 } });
    const resolved = await names.resolve(appId, [
      { ...named, path: '/a' },
      { ...named, path: '/a', registersPath: false },
    ]);
    expect(resolved[1]).toMatchObject({ record: { path: '/a' }, ids: resolved[0]!.ids });
  });
});
