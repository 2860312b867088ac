import type { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';

/**
 * Keeps a slot free on a server with `maxConnections`: when the last slot is used, the connection that has
 * been idle longest is closed. So unused connections cannot block others; nginx does the same.
 *
 * A server that is not HTTP emits `request` itself, with a response that emits `close`.
 *
 * Once the server has stopped listening, each connection is closed after its response. Node only closes
 * connections that are idle when the stop begins, and waits for the others until their clients close them.
 */
export function manageIdleConnections(server: Server): void {
  /** Idle connections, longest idle first. */
  const idle = new Set<Socket>();
  /** Requests in flight per connection; a client may pipeline. */
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
  server.on('request', (request: { socket: Socket } & Partial<EventEmitter>, response: EventEmitter) => {
    const { socket } = request;
    idle.delete(socket);
    pending.set(socket, (pending.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const remaining = (pending.get(socket) ?? 0) - 1;
      pending.set(socket, remaining);
      if (remaining > 0 || socket.destroyed) return;
      if (server.listening) idle.add(socket);
      else socket.destroySoon();
      // The rest of a body that was answered early is still read; the server may stop meanwhile.
      request.once?.('close', () => {
        if (!server.listening) socket.destroySoon();
      });
    });
  });
}
