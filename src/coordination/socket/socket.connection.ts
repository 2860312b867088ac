import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { json, text } from 'node:stream/consumers';
import { ClickHouseError } from '@clickhouse/client';
import { PRODUCT_VERSION } from '../../config/version.js';
import { TimeoutError, withTimeout } from '../../shared/async/timeout.js';
import type { WriterCoordinator } from '../writer-coordinator.js';
import { StoreUnavailable } from '../../store/client/clickhouse.errors.js';
import { type Parameters, renderParameters } from '../../store/client/query-parameters.js';
import type { EngineConnection, EngineParams } from '../../store/embedded/engine-client.js';
import {
  type CoordinatorCall,
  type SocketError,
  type SocketGreeting,
  findSocketPath,
} from './socket-protocol.js';

/** No server listens: the socket does not exist, or a killed process left it. */
const NOT_LISTENING = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTSOCK']);
const NO_RESPONSE = 'the server that has the data directory open does not respond';
/** For a server that is suspended: the kernel accepts the connection, and no greeting ever arrives. */
const GREETING_MS = 10_000;

/** The server with this data directory has another version. */
class VersionMismatch extends Error {
  override readonly name = 'VersionMismatch';
  constructor(version: string) {
    super(
      `The server that has the data directory open is version ${version}, this command is ${PRODUCT_VERSION}: ` +
        'use the same version, or stop the server',
    );
  }
}

/**
 * The embedded engine of the server that has the data directory open, behind the official client's own
 * connection hook, and the coordinator of its writers. See `StoreSocket`.
 */
export class SocketConnection implements EngineConnection {
  private readonly agent = new Agent({ keepAlive: true });
  private session = '';
  private endSession: () => void = () => undefined;

  private constructor(private readonly socketPath: string) {}

  /**
   * Connects to the server of a data directory; undefined if there is none.
   *
   * @throws VersionMismatch if it has another version; StoreUnavailable if it does not respond
   */
  static async connect(dataDir: string): Promise<SocketConnection | undefined> {
    const path = findSocketPath(dataDir);
    if (path === undefined) return undefined;
    const connection = new SocketConnection(path);
    try {
      const greeting = await withTimeout(GREETING_MS, connection.begin());
      if (greeting === undefined || greeting.version === PRODUCT_VERSION) return greeting && connection;
      throw new VersionMismatch(greeting.version);
    } catch (error) {
      await connection.close();
      if (error instanceof TimeoutError) throw new StoreUnavailable(NO_RESPONSE, { cause: error });
      throw error;
    }
  }

  get coordinator(): WriterCoordinator {
    const call = async <Result>(body: CoordinatorCall): Promise<Result> =>
      (await json(await this.post('coordinator', JSON.stringify(body)))) as Result;
    return {
      allocateIds: (...args) => call({ method: 'allocateIds', args }),
      acquireLocks: (...args) => call({ method: 'acquireLocks', args }),
      releaseLocks: (...args) => call({ method: 'releaseLocks', args }),
      beginWrite: (...args) => call({ method: 'beginWrite', args }),
      endWrite: (...args) => call({ method: 'endWrite', args }),
      pauseWrites: (...args) => call({ method: 'pauseWrites', args }),
      resumeWrites: (...args) => call({ method: 'resumeWrites', args }),
      close: () => undefined,
    };
  }

  async exec(params: EngineParams<'exec'>) {
    const { stream, headers } = await this.runStatement(params);
    const summary = JSON.parse(String(headers['x-summary'])) as Record<string, string>;
    return {
      stream,
      query_id: '',
      summary: summary as never,
      response_headers: {},
      http_status_code: 200,
    };
  }

  async command(params: EngineParams<'command'>) {
    await text((await this.runStatement(params)).stream);
    return { query_id: '', response_headers: {}, http_status_code: 200 };
  }

  close(): Promise<void> {
    this.endSession();
    this.agent.destroy();
    return Promise.resolve();
  }

  /** Begins a session; undefined if no server listens. */
  private async begin(): Promise<SocketGreeting | undefined> {
    const response = await this.send('GET', '/').catch((error: unknown) => {
      const { code = '' } = (error as StoreUnavailable).cause as NodeJS.ErrnoException;
      if (NOT_LISTENING.has(code)) return undefined;
      throw error;
    });
    if (!response) return undefined;
    // The response stays open as long as the session.
    const [line] = (await once(response, 'data')) as [Buffer];
    this.endSession = () => response.destroy();
    const greeting = JSON.parse(line.toString()) as SocketGreeting;
    this.session = greeting.session;
    return greeting;
  }

  private async runStatement({ query, query_params: values, abort_signal: signal }: EngineParams<'command'>) {
    // The text of an INSERT contains its rows; a placeholder in them would be data.
    const statement = values ? renderParameters(query, values as Parameters) : query;
    const response = await this.post('statement', statement, signal);
    const stream = Readable.from(readChunks(response, signal), { objectMode: false });
    return { stream, headers: response.headers };
  }

  /** @throws ClickHouseError of the engine, and what `send` throws */
  private async post(path: string, body: string, signal?: AbortSignal): Promise<IncomingMessage> {
    const response = await this.send('POST', `/${this.session}/${path}`, body, signal);
    if (response.statusCode === 200) return response;
    const { message, code, type } = (await json(response)) as SocketError;
    if (code === undefined) throw new StoreUnavailable(message);
    throw new ClickHouseError({ message, code, ...(type !== undefined && { type }) });
  }

  /** @throws StoreUnavailable when the server does not respond; the signal's reason if it aborts */
  private async send(
    method: string,
    path: string,
    body?: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const outgoing = request({
      method,
      path,
      socketPath: this.socketPath,
      agent: this.agent,
      ...(signal && { signal }),
    });
    // If the connection breaks during the response, both sides emit the error; the reader of the response
    // handles it.
    outgoing.on('error', () => undefined).end(body);
    try {
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      return response;
    } catch (error) {
      signal?.throwIfAborted();
      throw new StoreUnavailable(NO_RESPONSE, { cause: error });
    }
  }
}

/** @throws StoreUnavailable if the server is killed before the end; the signal's reason if it aborts */
async function* readChunks(response: IncomingMessage, signal?: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    signal?.throwIfAborted();
    throw new StoreUnavailable(NO_RESPONSE, { cause: error });
  }
}
