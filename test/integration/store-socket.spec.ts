import { createClient } from '@clickhouse/client';
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
});
