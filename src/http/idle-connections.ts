import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps a place free on a server that has `maxConnections`: with the last one taken, the connection that has been without a
 * request for longest is closed. So connections that are opened and never used cannot keep others out; nginx does the same.
 */
export function closeIdleConnectionsWhenFull(server: Server): void {
  /** Without a request, the one that has been so for longest first. */
  const idle = new Set<Socket>();
  /** How many requests of a connection have no response yet: it may write several at once. */
  const pending = new WeakMap<Socket, number>();
  let count = 0;
  server.on('connection', (socket: Socket) => {
    count += 1;
    if (count >= server.maxConnections) {
      const [longest] = idle;
      if (longest) {
        longest.destroy();
        server.emit('drop');
      }
    }
    idle.add(socket);
    socket.once('close', () => {
      count -= 1;
      idle.delete(socket);
    });
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    pending.set(socket, (pending.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (pending.get(socket) ?? 0) - 1;
      pending.set(socket, left);
      if (left === 0 && !socket.destroyed) idle.add(socket);
    });
  });
}
