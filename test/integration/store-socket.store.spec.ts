import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { createEngineClient } from '../../src/store/embedded/engine-client.js';
import { SocketConnection } from '../../src/coordination/socket/socket.connection.js';
import { StoreSocket } from '../../src/coordination/socket/store-socket.js';
import { withTimeout } from '../../src/shared/async/timeout.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { eventually } from '../setup/eventually.js';
import { type OpenStore, describeEmbedded, openEmptyStore } from '../setup/store.js';

describeEmbedded('StoreSocket', () => {
  it('closes once the running statements have ended, also if their process stays connected', async () => {
    const open = await openEmptyStore();
    const { store, config } = open;
    const socket = await StoreSocket.listen(config.dataDir, store, new LocalCoordinator());
    const connection = (await SocketConnection.connect(config.dataDir))!;
    const relay = jest.spyOn(store, 'relay');
    const statement = createEngineClient(connection).command({ query: 'SELECT sleep(0.5) FORMAT Null' });
    while (relay.mock.calls.length === 0) await new Promise(setImmediate);
    await withTimeout(10_000, socket!.close());
    await statement;
    await connection.close();
    await open.remove();
  });

  it('changes the version of a table with every insert, also with those through the socket', async () => {
    const open = await openEmptyStore();
    const { store, config } = open;
    await store.command('CREATE TABLE numbered (n UInt8) ENGINE = Memory');
    await store.command('CREATE TABLE other (n UInt8) ENGINE = Memory');
    const socket = await StoreSocket.listen(config.dataDir, store, new LocalCoordinator());
    const client = ClickHouse.openSocket(config, (await SocketConnection.connect(config.dataDir))!);
    const versions = [store.getVersion('numbered')];
    for (const writer of [store, client, store]) {
      await writer.insert('numbered', ['{"n":1}']);
      versions.push(store.getVersion('numbered'));
    }
    await client.insert('other', ['{"n":1}']);
    await client.rows('test.numbered', 'SELECT n FROM numbered');
    expect(store.getVersion('numbered')).toBe(versions.at(-1));
    expect(new Set(versions).size).toBe(4);
    expect(client.getVersion('numbered')).toBeUndefined();
    await client.close();
    await socket!.close();
    await open.remove();
  });

  describe('with 24 slow statements of a command', () => {
    const SLOW = 'SELECT sum(sleepEachRow(1)) FROM numbers(60) SETTINGS max_block_size = 1';
    let open: OpenStore;
    let socket: StoreSocket;
    let connection: SocketConnection;
    let ended: number;
    let statements: Promise<unknown>;

    beforeEach(async () => {
      open = await openEmptyStore({ EMBEDDED_SESSIONS: '2' });
      const { dataDir } = open.config;
      socket = (await StoreSocket.listen(dataDir, open.store, new LocalCoordinator()))!;
      connection = (await SocketConnection.connect(dataDir))!;
      ended = 0;
      const client = createEngineClient(connection);
      const run = () => client.command({ query: SLOW }).finally(() => (ended += 1));
      statements = Promise.allSettled(Array.from({ length: 24 }, run));
      await eventually(async () => (await countRunning()) > 0);
    });

    afterEach(async () => {
      await connection.close();
      await statements;
      await socket.close();
      await open.remove();
    });

    const countRunning = async () => {
      const [row] = await open.store.rows<{ n: number }>(
        'test.count',
        "SELECT count() AS n FROM system.processes WHERE query LIKE '%sleepEachRow(1)%' AND query NOT LIKE '%LIKE%'",
      );
      return row?.n ?? 0;
    };

    it('serves reads beside them, and another command', async () => {
      const other = (await SocketConnection.connect(open.config.dataDir))!;
      const client = ClickHouse.openSocket(open.config, other);
      expect(await client.rows('test.other', 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      expect([ended, await countRunning()]).toEqual([0, 1]);
      await client.close();
    });

    it('ends all of them with the command', async () => {
      await connection.close();
      await statements;
      await eventually(async () => (await countRunning()) === 0);
    });
  });
});
