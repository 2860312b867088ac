import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

/** A connection that writes bytes as they are, and sees the responses to them. */
export class RawConnection {
  /** Resolves once either side has closed it. */
  readonly closed: Promise<void>;
  private received = '';
  private readonly startedAt = performance.now();

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (this.received += chunk));
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        resolve();
      });
    });
  }

  /** Resolves once it is connected, even where the server closes it at once. */
  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  /** Opens `count` connections. */
  static async openAll(url: string, count: number): Promise<RawConnection[]> {
    const all: RawConnection[] = [];
    for (let at = 0; at < count; at += OPENED_AT_ONCE)
      all.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(OPENED_AT_ONCE, count - at) }, () => RawConnection.open(url)),
        )),
      );
    return all;
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  /** The statuses of the responses so far; no text in a response has the form of a status line. */
  get statuses(): number[] {
    return Array.from(this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
  }

  /** Milliseconds since it was opened. */
  get ageMs(): number {
    return performance.now() - this.startedAt;
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Fewer than a server keeps waiting to be accepted. */
const OPENED_AT_ONCE = 100;
