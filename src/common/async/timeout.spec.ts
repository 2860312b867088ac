import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { TimeoutError, withTimeout } from './timeout.js';

describe('within', () => {
  it('settles as the work does', async () => {
    await expect(withTimeout(1_000, Promise.resolve(7))).resolves.toBe(7);
    await expect(withTimeout(1_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('rejects when the work does not settle', async () => {
    await expect(withTimeout(5, new Promise(() => undefined))).rejects.toThrow(TimeoutError);
  });

  it('takes a response that came while the event loop was busy', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    const response = once(socket, 'data');
    await turn();

    const awaited = withTimeout(5, response);
    peer.write('here');
    const until = performance.now() + 30;
    while (performance.now() < until);
    const settled = await Promise.allSettled([awaited, response]);
    socket.destroy();
    server.close();
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });
});
