import { type Socket, connect } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

export interface BenchResponse {
  status: number;
  /** Status line and headers. */
  head: string;
  body: Buffer;
}

/**
 * One kept-alive connection that asks and waits, one request at a time. The least a client can do, so that on
 * a small machine the load does not take the time from what is measured.
 */
export class HttpConnection {
  private received: Buffer[] = [];
  private length = 0;
  private expected = Infinity;
  private isChunked = false;
  private headLength = 0;
  private settle?: { ok: (response: BenchResponse) => void; no: (why: Error) => void };

  private constructor(
    private readonly socket: Socket,
    private readonly key: string,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (bytes) => {
      this.take(bytes);
    });
    socket.on('error', (error) => this.settle?.no(error));
    socket.on('close', () => this.settle?.no(new Error('The server closed the connection')));
  }

  static open(port: number, key: string): Promise<HttpConnection> {
    return new Promise((ok, no) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.off('error', no);
        ok(new HttpConnection(socket, key));
      });
      socket.once('error', no);
    });
  }

  /** The server ends connections that were not used for a while. */
  get isOpen(): boolean {
    return this.socket.writable;
  }

  /** A GET, or with a body a POST of it. */
  get(path: string, body?: object): Promise<BenchResponse> {
    const json = body === undefined ? '' : JSON.stringify(body);
    const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(json)}\r\n`;
    const head = `${body ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nHost: bench\r\nApi-Key: ${this.key}\r\n${length}\r\n`;
    return new Promise((ok, no) => {
      this.settle = { ok, no };
      this.socket.write(head + json);
    });
  }

  close() {
    delete this.settle;
    this.socket.destroy();
  }

  private take(bytes: Buffer) {
    this.received.push(bytes);
    this.length += bytes.length;
    if (this.expected === Infinity && !this.isChunked) this.readHead();
    if (this.isChunked ? !bytes.toString('latin1').endsWith(LAST_CHUNK) : this.length < this.expected) return;
    const whole = this.received.length === 1 ? bytes : Buffer.concat(this.received);
    const head = whole.toString('latin1', 0, this.headLength);
    const body = whole.subarray(this.headLength);
    const { settle } = this;
    this.received = [];
    this.length = 0;
    this.expected = Infinity;
    this.isChunked = false;
    settle?.ok({ status: Number(head.slice(9, 12)), head, body });
  }

  private readHead() {
    const whole = Buffer.concat(this.received);
    const end = whole.indexOf(HEAD_END);
    if (end < 0) return;
    this.headLength = end + HEAD_END.length;
    const length = /^content-length: (\d+)/im.exec(whole.toString('latin1', 0, end))?.[1];
    if (length === undefined) this.isChunked = true;
    else this.expected = this.headLength + Number(length);
  }
}
