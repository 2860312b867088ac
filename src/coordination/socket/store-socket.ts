import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { PRODUCT_VERSION } from '../../config/version.js';
import type { LocalCoordinator } from '../writer-coordinator.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import {
  type CoordinatorCall,
  type SocketError,
  type SocketGreeting,
  findSocketPath,
} from './socket-protocol.js';

const OWNER_ONLY = 0o600;
/** Commands give up earlier; this limit is for a command that was suspended for good. */
const STATEMENT_MS = 86_400_000;

/** A process that uses the socket. */
interface Session {
  readonly number: number;
  readonly response: ServerResponse;
  /** Owners of locks that the process acquired. */
  readonly owners: Set<string>;
  /** Its running statements. */
  running: number;
  hasEnded: boolean;
}

/**
 * The embedded engine for other processes of the same account: only one process can open the data directory,
 * so commands reach it through the server that did. HTTP on a Unix socket that only the owner of the
 * directory can open.
 *
 * - `GET /`: begins a session, which ends with the connection. Then its locks are released, once its
 *   statements have ended
 * - `POST /{session}/statement`: runs the statement in the body; the response is its result. It ends with the
 *   connection, unless it writes and has begun
 * - `POST /{session}/coordinator`: a call of the coordinator of writers
 */
export class StoreSocket {
  private readonly sessions = new Map<string, Session>();
  private sessionCount = 0;
  private readonly server: Server;

  private constructor(
    private readonly store: ClickHouse,
    private readonly coordinator: LocalCoordinator,
  ) {
    this.server = createServer((request, response) => void this.respond(request, response));
    // Statements may take hours.
    this.server.requestTimeout = 0;
    this.server.keepAliveTimeout = 60_000;
  }

  /**
   * Listens in the data directory, which must be open. Undefined if its path is too long for a socket.
   *
   * @throws the error of `listen`
   */
  static async listen(
    dataDir: string,
    store: ClickHouse,
    coordinator: LocalCoordinator,
  ): Promise<StoreSocket | undefined> {
    const path = findSocketPath(dataDir);
    if (path === undefined) return undefined;
    // A killed process left the file: only this process has the directory open.
    rmSync(path, { force: true });
    const socket = new StoreSocket(store, coordinator);
    socket.server.listen(path);
    // Not by umask, because the threads of the engine create files at the same time.
    if (existsSync(path)) chmodSync(path, OWNER_ONLY);
    await once(socket.server, 'listening');
    socket.server.unref();
    return socket;
  }

  /** Removes the socket and waits for the running statements. */
  async close(): Promise<void> {
    const closed = new Promise((ok) => this.server.close(ok));
    for (const { response } of this.sessions.values()) response.end();
    this.server.closeIdleConnections();
    await closed;
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/') {
      this.begin(response);
      return;
    }
    const [, id = '', operation] = request.url?.split('/') ?? [];
    const session = this.sessions.get(id);
    if (!session) {
      this.sendJson(response, 404, {
        message: 'the server that has the data directory open stops',
      } satisfies SocketError);
      return;
    }
    session.running += 1;
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort(new Error('the command does not wait for the statement'));
    });
    try {
      const body = await text(request);
      if (operation === 'statement') {
        const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(STATEMENT_MS)]);
        const { result, summary } = await this.store.relay(body, session.number, signal);
        this.send(response, 200, { 'X-Summary': JSON.stringify(summary ?? {}) }, result);
      } else {
        const result = await this.coordinate(session, JSON.parse(body) as CoordinatorCall);
        this.sendJson(response, 200, result ?? null);
      }
    } catch (error) {
      const { message, code, type } = error as SocketError;
      if (!response.headersSent) this.sendJson(response, 500, { message, code, type } satisfies SocketError);
    } finally {
      session.running -= 1;
      this.releaseEnded(session);
    }
  }

  private sendJson(response: ServerResponse, status: number, body: unknown): void {
    this.send(response, status, { 'Content-Type': 'application/json' }, JSON.stringify(body));
  }

  /** The server may be shutting down since the request: `close` waits until the connection is closed. */
  private send(
    response: ServerResponse,
    status: number,
    headers: OutgoingHttpHeaders,
    body: string | Buffer,
  ): void {
    const connection = this.server.listening ? 'keep-alive' : 'close';
    response.writeHead(status, { ...headers, Connection: connection }).end(body);
  }

  private begin(response: ServerResponse): void {
    const id = randomUUID();
    const number = (this.sessionCount += 1);
    const session: Session = { number, response, owners: new Set(), running: 0, hasEnded: false };
    this.sessions.set(id, session);
    response.once('close', () => {
      this.sessions.delete(id);
      session.hasEnded = true;
      this.releaseEnded(session);
    });
    response.write(`${JSON.stringify({ version: PRODUCT_VERSION, session: id } satisfies SocketGreeting)}\n`);
  }

  /**
   * Releases the locks of a process that ended, but only after its statements: the engine cannot interrupt
   * them.
   */
  private releaseEnded({ hasEnded, running, owners }: Session): void {
    if (hasEnded && running === 0) for (const owner of owners) this.coordinator.releaseAll(owner);
  }

  private coordinate({ owners }: Session, { method, args }: CoordinatorCall): Promise<unknown> {
    switch (method) {
      case 'allocateIds':
        return this.coordinator.allocateIds(...args);
      case 'acquireLocks':
        owners.add(args[1]);
        return this.coordinator.acquireLocks(...args);
      case 'releaseLocks':
        return this.coordinator.releaseLocks(...args);
      case 'beginWrite':
        owners.add(args[0]);
        return this.coordinator.beginWrite(...args);
      case 'endWrite':
        owners.delete(args[0]);
        return this.coordinator.endWrite(...args);
      case 'pauseWrites':
        owners.add(args[0]);
        return this.coordinator.pauseWrites(...args);
      case 'resumeWrites':
        return this.coordinator.resumeWrites(...args);
    }
  }
}
