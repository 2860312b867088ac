import { once } from 'node:events';
import { type IncomingMessage, type Server, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { measureMemory } from '../setup/memory.js';
import { withResolvers } from '../../src/shared/async/with-resolvers.js';
import { handleClientError, trackResponse } from '../../src/platform/http/client-error.js';
import { readBody, streamBody } from '../../src/platform/http/request-body.js';

const MAX_BYTES = 100_000;
/** Longer than a sender may pause. */
const PAUSE_MS = 5_500;

let server: Server;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = createServer()
    .on('request', trackResponse)
    .on('clientError', handleClientError)
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
  server.closeAllConnections();
});

/** A request without a body so far, and the socket that writes it. */
async function beginRequest(): Promise<{ request: IncomingMessage; socket: Socket }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  return { request, socket };
}

describe('readBody', () => {
  it('holds no buffer for each byte of a body that arrives byte by byte', async () => {
    const before = measureMemory().heapUsed;
    const { promise: received, resolve: onReceived } = withResolvers();
    const { request, socket } = await beginRequest();
    const body = readBody(request, MAX_BYTES, (length) => {
      if (length === MAX_BYTES) onReceived();
    });
    socket.write('1\r\nx\r\n'.repeat(MAX_BYTES));
    await received;
    // A buffer has more than a hundred bytes.
    expect(measureMemory().heapUsed - before).toBeLessThan(30 * MAX_BYTES);
    socket.write('0\r\n\r\n');
    expect((await body).toString()).toBe('x'.repeat(MAX_BYTES));
  });
});

describe('streamBody', () => {
  it('keeps nothing of what was consumed', async () => {
    const MEGABYTE = 1_000_000;
    const { request, socket } = await beginRequest();
    const chunk = `${MEGABYTE.toString(16)}\r\n${'x'.repeat(MEGABYTE)}\r\n`;
    const { arrayBuffers } = measureMemory();
    let received = 0;
    socket.write(chunk);
    for await (const { length } of streamBody(request, Infinity)) {
      received += length;
      if (received === 40 * MEGABYTE) break;
      if (received % MEGABYTE === 0) socket.write(chunk);
    }
    expect(measureMemory().arrayBuffers - arrayBuffers).toBeLessThan(10 * MEGABYTE);
  });
});

describe('readBody and streamBody', () => {
  it.each([
    ['takes too long', 'ERR_HTTP_REQUEST_TIMEOUT', 408],
    ['becomes invalid HTTP', 'HPE_INVALID_CHUNK_SIZE', 400],
  ])('reject a body that %s (%s) with %i', async (_, code, status) => {
    for (const read of [
      (request: IncomingMessage) => readBody(request, MAX_BYTES, () => undefined),
      (request: IncomingMessage) => buffer(streamBody(request, MAX_BYTES)),
    ]) {
      const { request, socket } = await beginRequest();
      const body = read(request);
      socket.write('2\r\nab\r\n');
      server.emit('clientError', Object.assign(new Error(code), { code }), request.socket);
      await expect(body).rejects.toMatchObject({ status });
    }
  });

  it('do not blame the sender for a pause of this process', async () => {
    const [first, second] = [await beginRequest(), await beginRequest()];
    const bodies = Promise.all([
      readBody(first.request, MAX_BYTES, () => undefined),
      buffer(streamBody(second.request, MAX_BYTES)),
    ]);
    for (const { socket } of [first, second]) socket.write('2\r\nab\r\n0\r\n\r\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    expect((await bodies).map(String)).toEqual(['ab', 'ab']);
  });
});
