import { createClient } from '@clickhouse/client';
import { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import { SocketConnection } from '../../src/clickhouse/embedded/socket.connection.js';
import { StoreSocket } from '../../src/clickhouse/embedded/store-socket.js';
import { withTimeout } from '../../src/common/async/timeout.js';
import { LocalCoordinator } from '../../src/common/writer-coordinator.js';
import { describeEmbedded, openEmptyStore } from '../setup/store.js';

describeEmbedded('StoreSocket', () => {
  it('closes once the running statements have ended, also if their process stays connected', async () => {
    const open = await openEmptyStore();
    const { store, config } = open;
    const socket = await StoreSocket.listen(config.dataDir, store, new LocalCoordinator());
    const connection = (await SocketConnection.connect(config.dataDir))!;
    const relay = jest.spyOn(store, 'relay');
    const statement = createClient({ connection }).command({ query: 'SELECT sleep(0.5) FORMAT Null' });
    while (relay.mock.calls.length === 0) await new Promise(setImmediate);
    await withTimeout(10_000, socket!.close());
    await statement;
    await connection.close();
    await open.remove();
  });

  it('changes the version of a table with every insert, also with those of other processes', async () => {
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
});
