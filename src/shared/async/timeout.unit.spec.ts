import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { TimeoutError, withTimeout } from './timeout.js';

describe('withTimeout', () => {
  it('settles as the work does', async () => {
    await expect(withTimeout(1_000, Promise.resolve(7))).resolves.toBe(7);
    await expect(withTimeout(1_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('rejects when the work does not settle', async () => {
    await expect(withTimeout(5, new Promise(() => undefined))).rejects.toThrow(TimeoutError);
  });

  it.each([
    ['long after the limit', 100, 0, 300],
    ['from near the limit to long after it', 200, 150, 400],
    ['until shortly after the limit', 200, 150, 70],
  ])('takes a response that came while the event loop was busy, %s', async (_, ms, afterMs, busyMs) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    const response = once(socket, 'data');
    await turn();

    const awaited = withTimeout(ms, response);
    await pause(afterMs);
    await turn();
    peer.write('here');
    const until = performance.now() + busyMs;
    while (performance.now() < until);
    const settled = await Promise.allSettled([awaited, response]);
    socket.destroy();
    peer.destroy();
    server.close();
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });
});
