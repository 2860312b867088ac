import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { withTimeout } from '../../shared/async/timeout.js';
import { manageIdleConnections } from './idle-connections.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';

describe('manageIdleConnections', () => {
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => responses.push(response));
  server.maxConnections = 3;
  manageIdleConnections(server);
  let drops = 0;
  server.on('drop', () => (drops += 1));

  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const open = async (): Promise<Socket> => {
    const accepted = once(server, 'connection');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
    await Promise.all([once(socket, 'connect'), accepted]);
    return socket;
  };
  const ask = async (socket: Socket): Promise<ServerResponse> => {
    socket.write(REQUEST);
    await once(server, 'request');
    return responses.at(-1)!;
  };

  it('closes what has been without a request for longest, never what waits for its response', async () => {
    const [busy, first] = [await open(), await open()];
    const pending = await ask(busy);
    const [second, closed] = [await open(), once(first, 'close')];
    await closed;
    expect([busy.destroyed, second.destroyed, drops]).toEqual([false, false, 1]);

    // What has had its response has been idle for less time than what never asked.
    const closedBusy = once(busy, 'close');
    const closedSecond = once(second, 'close');
    pending.end();
    await once(pending, 'close');
    const third = await open();
    await closedSecond;
    expect([busy.destroyed, third.destroyed]).toEqual([false, false]);

    const fourth = await open();
    await closedBusy;
    expect([third.destroyed, fourth.destroyed]).toEqual([false, false]);

    // All are busy: there is nothing to close, and what comes beyond the limit is closed by Node.
    const pendingResponses = [await ask(third), await ask(fourth)];
    const fifth = await open();
    pendingResponses.push(await ask(fifth));
    const sixth = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(sixth, 'close');
    expect([third.destroyed, fourth.destroyed, fifth.destroyed]).toEqual([false, false, false]);
    for (const response of pendingResponses) response.end();
  });

  it('closes a connection after its response when the server has stopped listening', async () => {
    const stopping = createServer({ keepAliveTimeout: 65_000 });
    manageIdleConnections(stopping);
    await once(stopping.listen(0, '127.0.0.1'), 'listening');
    const socket = connect((stopping.address() as AddressInfo).port, '127.0.0.1');
    socket.write(REQUEST);
    const [, response] = (await once(stopping, 'request')) as [unknown, ServerResponse];
    stopping.close();
    response.end('whole');
    const received = await withTimeout(10_000, text(socket)).finally(() => socket.destroy());
    expect(received).toContain('whole');
  });

  it('closes a connection after the rest of a body that was answered early, when it stopped meanwhile', async () => {
    const stopping = createServer({ keepAliveTimeout: 65_000 });
    manageIdleConnections(stopping);
    await once(stopping.listen(0, '127.0.0.1'), 'listening');
    const socket = connect((stopping.address() as AddressInfo).port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nab');
    const [request, response] = (await once(stopping, 'request')) as [IncomingMessage, ServerResponse];
    request.resume();
    response.end('refused');
    await once(response, 'close');
    stopping.close();
    socket.write('cd');
    const received = await withTimeout(10_000, text(socket)).finally(() => socket.destroy());
    expect(received).toContain('refused');
  });
});
