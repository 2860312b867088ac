import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

/** A connection that writes bytes as they are, and sees the responses to them. */
export class RawConnection {
  private received = '';
  private readonly startedAt = performance.now();
  /** Resolves when the server has closed the connection, or `close` has. */
  readonly closed: Promise<void>;

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (this.received += chunk));
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** Resolves once it is connected; a server that has too many connections closes it at once. */
  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  /** The statuses of the responses so far. */
  get statuses(): number[] {
    return Array.from(this.received.matchAll(/^HTTP\/1\.1 (\d{3}) /gm), ([, status]) => Number(status));
  }

  get ageMs(): number {
    return performance.now() - this.startedAt;
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  close(): void {
    this.socket.destroy();
  }
}
