import { Duplex } from 'node:stream';
import { handleClientError } from './client-error.js';

/** A connection that keeps what is written to it. */
function connection() {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      written.push(chunk);
      done();
    },
  });
  return { socket, written: () => Buffer.concat(written).toString() };
}

const error = (code: string, rawPacket = '') =>
  Object.assign(new Error('Parse Error'), { code, rawPacket: Buffer.from(rawPacket) });

describe('handleClientError', () => {
  it.each([
    ['HPE_INVALID_METHOD', '400 Bad Request'],
    ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
    ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
  ])('maps %s to %s in the shape of every other error', (code, status) => {
    const { socket, written } = connection();
    handleClientError(error(code), socket);
    const [head = '', body] = written().split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\r\n`));
    expect(head).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m);
    expect(body).toBe(JSON.stringify({ detail: status.slice(4) }));
    socket.destroy();
  });

  it.each([
    ['of the broken request', 'GET / HTTP/1.1\r\nX-Request-Id: b\r\nbroken', 'b'],
    ['not of one before it', 'GET / HTTP/1.1\r\nX-Request-Id: a\r\n\r\nbroken', undefined],
    [
      'not of more than 128 characters',
      `GET / HTTP/1.1\r\nX-Request-Id: ${'a'.repeat(129)}\r\nbroken`,
      undefined,
    ],
    ['not of a body that ends its line early', 'x-request-id: a\rSet-Cookie: b', undefined],
  ])('keeps the request ID %s', (_, packet, expected) => {
    const { socket, written } = connection();
    handleClientError(error('HPE_INVALID_HEADER_TOKEN', packet), socket);
    const [, id] = /^X-Request-Id: (.*)\r$/m.exec(written()) ?? [];
    expect(id).toEqual(expected ?? expect.stringMatching(/^[0-9a-f-]{36}$/));
    socket.destroy();
  });

  it('responds once, however much more comes', () => {
    const { socket, written } = connection();
    for (let n = 0; n < 3; n += 1) handleClientError(error('HPE_INVALID_METHOD'), socket);
    expect(written().match(/HTTP/g)).toHaveLength(1);
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('drops a connection that is gone', () => {
    const { socket, written } = connection();
    handleClientError(error('ECONNRESET'), socket);
    expect([socket.destroyed, written()]).toEqual([true, '']);
  });
});
