import { once } from 'node:events';
import { type IncomingMessage, createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { queryObjects } from 'node:v8';
import { readBody } from './request-body.js';

describe('readBody', () => {
  it('holds no buffer for each byte of a body that arrives byte by byte', async () => {
    const bytes = 20_000;
    const before = queryObjects(Buffer, { format: 'count' });
    let onReceived: () => void = () => undefined;
    const received = new Promise<void>((resolve) => (onReceived = resolve));
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    try {
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
      const [request] = (await once(server, 'request')) as [IncomingMessage];
      const body = readBody(request, bytes, (length) => {
        if (length === bytes) onReceived();
      });
      body.catch(() => undefined);
      socket.write('1\r\nx\r\n'.repeat(bytes));
      await received;
      expect(queryObjects(Buffer, { format: 'count' }) - before).toBeLessThan(bytes / 4);
      socket.write('0\r\n\r\n');
      expect((await body).toString()).toBe('x'.repeat(bytes));
    } finally {
      socket.destroy();
      server.close();
    }
  });
});
