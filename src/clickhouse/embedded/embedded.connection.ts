import { resolve } from 'node:path';
import { ClickHouseError } from '@clickhouse/client';
import type { NodeClickHouseClientConfigOptions } from '@clickhouse/client/dist/config.js';
import { DataDirectoryInUse, DataDirectoryUnusable, StoreUnavailable } from '../clickhouse.errors.js';
import { type Parameters, renderParameters } from '../query-parameters.js';
import { loadChdb } from './chdb.js';
import { findLockOwner, markMissingTables, prepareDataDirectory } from './data-directory.js';
import { repairDeduplicationLogs } from './deduplication-log.js';

type Connection = NonNullable<NodeClickHouseClientConfigOptions['connection']>;
type Params<M extends 'query' | 'exec' | 'command' | 'insert'> = globalThis.Parameters<Connection[M]>[0];

/**
 * The engine inside this process, behind the official client's own connection hook.
 *
 * A session runs its queries one after another, so a pool of sessions shares the directory and a slow query does not block
 * the others. Only here values become literals; see `renderParameters`.
 *
 * A session in which a query failed is never used again: the engine may return rows of the failed query to the
 * next one (docs/chdb-leftover-rows.mjs). Opening a new session takes less than a millisecond.
 */
export class EmbeddedConnection implements Connection {
  private readonly idle: Connection[] = [];
  private readonly busy = new Set<Connection>();
  /** Busy sessions that must not be used again. */
  private readonly outdated = new WeakSet<Connection>();
  private readonly waiting: { grant: (session: Connection) => void; fail: (why: Error) => void }[] = [];
  private closing?: Promise<void>;
  private onIdle?: () => void;

  private constructor(
    private readonly size: number,
    private readonly openSession: () => Connection,
    /** Runs no query; it keeps the directory open, because the engine closes it with the last session. */
    private readonly anchor: Connection,
    private readonly waitMs: number,
    private readonly drainEngine: () => Promise<void>,
  ) {}

  /**
   * Opens the directory, and creates it if it is missing.
   *
   * @param size how many queries run at once.
   * @param waitMs how long a query may wait for a free session before it counts as overload.
   * @throws DataDirectoryInUse when another process has it; ConfigError when it cannot be made or written to;
   *   DataDirectoryUnusable when the engine does not open it.
   */
  static async open(path: string, size: number, waitMs: number): Promise<EmbeddedConnection> {
    const { createChdbConnection, drainPending } = await loadChdb();
    const directory = resolve(path);
    prepareDataDirectory(directory);
    if (findLockOwner(directory) !== undefined) throw new DataDirectoryInUse(path);
    markMissingTables(directory);
    repairDeduplicationLogs(directory);
    // Two copies of the same declarations: the engine's package was built against the client's common part.
    const openSession = () => createChdbConnection({ path: directory }) as unknown as Connection;
    try {
      return new EmbeddedConnection(size, openSession, openSession(), waitMs, drainPending);
    } catch (error) {
      // Another process may have opened it since the check above.
      const isHeld = findLockOwner(directory) !== undefined;
      throw new (isHeld ? DataDirectoryInUse : DataDirectoryUnusable)(path, { cause: error });
    }
  }

  /** Sessions that run a query (also one whose client disconnected), and queries that wait for a session. */
  get load(): { busy: number; waiting: number } {
    return { busy: this.busy.size, waiting: this.waiting.length };
  }

  query(params: Params<'query'>) {
    return this.run(params, (session, bound) => session.query(bound));
  }

  exec(params: Params<'exec'>) {
    return this.run(params, (session, bound) => session.exec(bound));
  }

  command(params: Params<'command'>) {
    return this.run(params, (session, bound) => session.command(bound));
  }

  insert(params: Params<'insert'>) {
    return this.run(params, (session, bound) => session.insert(bound));
  }

  /** Probe of the client. */
  async ping(params: globalThis.Parameters<Connection['ping']>[0]) {
    const session = await this.acquire();
    const result = await session.ping(params);
    this.release(session, result.success);
    return result;
  }

  /** Discards all current sessions: one of them returned a result that does not belong to its query. */
  replaceSessions(): void {
    for (const session of this.busy) this.outdated.add(session);
    for (const session of this.idle.splice(0)) void session.close();
  }

  /** Waits for the running queries: a process that exits during one hangs. */
  close(): Promise<void> {
    this.closing ??= this.closeSessions();
    return this.closing;
  }

  private async run<P extends Params<'query'>, R>(
    params: P,
    operation: (session: Connection, bound: P) => Promise<R>,
  ): Promise<R> {
    const { query_params: values, abort_signal: signal, ...rest } = params;
    // The text of an INSERT contains its rows; a placeholder in them would be data.
    const query = values ? renderParameters(params.query, values as Parameters) : params.query;
    signal?.throwIfAborted();
    const session = await this.acquire();
    if (signal?.aborted) {
      this.release(session, true);
      signal.throwIfAborted();
    }
    // The engine cannot interrupt a query: the session stays busy until it ends, even if the client disconnected.
    const done = operation(session, { ...rest, query } as P).then(
      (result) => {
        this.release(session, true);
        return result;
      },
      (error: unknown) => {
        this.release(session, false);
        throw error;
      },
    );
    return signal ? abortable(done, signal) : done;
  }

  private async acquire(): Promise<Connection> {
    if (this.closing) throw new StoreUnavailable('the store is closing');
    if (this.busy.size >= this.size) return this.waitForSession();
    const session = this.idle.pop() ?? this.openAnother();
    this.busy.add(session);
    return session;
  }

  private openAnother(): Connection {
    try {
      return this.openSession();
    } catch (error) {
      throw new StoreUnavailable('no session could be opened', { cause: error });
    }
  }

  private waitForSession(): Promise<Connection> {
    return new Promise((ok, no) => {
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        no(new StoreUnavailable('no session became free in time'));
      }, this.waitMs);
      const waiter = {
        grant: (session: Connection) => {
          clearTimeout(timer);
          ok(session);
        },
        fail: (why: Error) => {
          clearTimeout(timer);
          no(why);
        },
      };
      this.waiting.push(waiter);
    });
  }

  private release(session: Connection, isReusable: boolean) {
    this.busy.delete(session);
    if (isReusable && !this.outdated.has(session)) this.idle.push(session);
    else void session.close();
    const next = this.waiting.shift();
    if (next) this.acquire().then(next.grant, next.fail);
    if (this.busy.size === 0) this.onIdle?.();
  }

  private async closeSessions(): Promise<void> {
    for (const { fail } of this.waiting.splice(0)) fail(new StoreUnavailable('the store is closing'));
    if (this.busy.size > 0)
      await new Promise<void>((ok) => {
        this.onIdle = ok;
      });
    await Promise.all([...this.idle, this.anchor].map((session) => session.close()));
    await this.drainEngine();
  }
}

function abortable<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((ok, no) => {
    const abort = () => {
      no(
        new ClickHouseError({ message: 'The query was cancelled', code: '394', type: 'QUERY_WAS_CANCELLED' }),
      );
    };
    signal.addEventListener('abort', abort, { once: true });
    work.then(ok, no).finally(() => {
      signal.removeEventListener('abort', abort);
    });
  });
}
