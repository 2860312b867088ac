import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { TimedOut, within } from './timeout.js';

describe('within', () => {
  it('settles as the work does', async () => {
    await expect(within(1_000, Promise.resolve(7))).resolves.toBe(7);
    await expect(within(1_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('rejects when the work does not settle', async () => {
    await expect(within(5, new Promise(() => undefined))).rejects.toThrow(TimedOut);
  });

  it('takes an answer that came while the event loop was busy', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    const answer = once(socket, 'data');
    await turn();

    const awaited = within(5, answer);
    peer.write('here');
    const until = performance.now() + 30;
    while (performance.now() < until);
    const settled = await Promise.allSettled([awaited, answer]);
    socket.destroy();
    server.close();
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });
});
