import { getEventListeners, once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { QueryTimedOut } from './clickhouse.errors.js';
import { withDeadline } from './deadline.js';

const never = () => new Promise<never>(() => undefined);

describe('withDeadline', () => {
  it('resolves to the result of the work', async () => {
    expect(await withDeadline(1_000, undefined, () => Promise.resolve(7))).toBe(7);
    await expect(withDeadline(1_000, undefined, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('rejects in time, and aborts the work', async () => {
    let aborts: AbortSignal | undefined;
    const work = (signal: AbortSignal) => {
      aborts = signal;
      return never();
    };
    await expect(withDeadline(10, undefined, work)).rejects.toThrow(QueryTimedOut);
    expect(aborts?.reason).toBeInstanceOf(QueryTimedOut);
  });

  it.each([
    ['at the beginning', 0, 400],
    ['near the end', 150, 400],
    ['until shortly after the end', 150, 70],
  ])('takes a response that came while the process stood still %s', async (_, afterMs, stillMs) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    const response = once(socket, 'data');
    await turn();

    const awaited = withDeadline(200, undefined, () => response);
    await pause(afterMs);
    await turn();
    peer.write('here');
    const until = performance.now() + stillMs;
    while (performance.now() < until);
    const settled = await Promise.allSettled([awaited, response]);
    socket.destroy();
    peer.destroy();
    server.close();
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });

  it('rejects with the signal’s reason when it aborts, and aborts the work', async () => {
    const caller = new AbortController();
    let aborts: AbortSignal | undefined;
    const waiting = withDeadline(1_000, caller.signal, (signal) => {
      aborts = signal;
      return never();
    });
    const reason = new Error('gone');
    caller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(aborts?.reason).toBe(reason);
  });

  it('does not begin for a caller who left before', async () => {
    const work = jest.fn(never);
    await expect(withDeadline(1_000, AbortSignal.abort(new Error('gone')), work)).rejects.toThrow('gone');
    expect(work).not.toHaveBeenCalled();
  });

  it('leaves nothing behind with a caller who asks many times', async () => {
    const caller = new AbortController();
    for (let n = 0; n < 20; n++) {
      await withDeadline(1_000, caller.signal, () => Promise.resolve());
    }
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
  });
});
