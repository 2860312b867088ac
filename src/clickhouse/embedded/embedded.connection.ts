import { resolve } from 'node:path';
import type { NodeClickHouseClientConfigOptions } from '@clickhouse/client/dist/config.js';
import { DataDirectoryInUse, DataDirectoryUnusable, StoreUnavailable } from '../clickhouse.errors.js';
import { MAX_STATEMENT_BYTES, type Parameters, renderParameters } from '../query-parameters.js';
import { loadChdb } from './chdb.js';
import { findLockOwner, isTaken, markMissingTables, prepareDataDirectory } from './data-directory.js';
import { giveToOwner } from './owner.js';
import { finishRestore } from './restored-data.js';
import { repairDeduplicationLogs } from './deduplication-log.js';

type Connection = NonNullable<NodeClickHouseClientConfigOptions['connection']>;
type Params<M extends 'query' | 'exec' | 'command' | 'insert'> = globalThis.Parameters<Connection[M]>[0];

/**
 * Settings of the engine that only its first session can have. Backups can be anywhere. By default four merges and mutations
 * have a place, and a mutation without one is tried again after up to a second: `app delete` has one for each table.
 */
const ENGINE_ARGUMENTS = [
  '--backups.allowed_path=/',
  '--background_merges_mutations_concurrency_ratio=4',
  '--background_processing_pool_task_sleep_seconds_when_no_work_random_part=0.1',
];

/** The engine reads this setting before it reads a statement, so it is one of the session. */
const SET_STATEMENT_SIZE = `SET max_query_size = ${MAX_STATEMENT_BYTES}`;

/**
 * The engine inside this process, behind the official client's own connection hook.
 *
 * A session runs its queries one after another, so each query has a session of its own while it runs; how many queries run at
 * once is the matter of `QueryLimiter`. The engine cannot interrupt a query: a promise settles once the engine is done, also
 * where the query's signal was aborted meanwhile. Values become literals; see `renderParameters`.
 *
 * A session in which a query failed is never used again: the engine may return rows of the failed query to the
 * next one (docs/chdb-leftover-rows.mjs). Opening a new session takes less than a millisecond.
 */
export class EmbeddedConnection implements Connection {
  private readonly idle: Connection[] = [];
  private readonly busy = new Set<Connection>();
  /** Busy sessions that must not be used again. */
  private readonly outdated = new WeakSet<Connection>();
  private closing?: Promise<void>;
  private onIdle?: () => void;

  private constructor(
    private readonly maxIdle: number,
    private readonly openSession: () => Connection,
    /** Runs no query; it keeps the directory open, because the engine closes it with the last session. */
    private readonly anchor: { close(): void },
    private readonly drainEngine: () => Promise<void>,
    private readonly directory: string,
  ) {}

  /**
   * Opens the directory, and creates it if it is missing.
   *
   * @param maxIdle how many sessions are kept open for later queries.
   * @throws DataDirectoryInUse when another process has it; ConfigError when it cannot be made or written to;
   *   DataDirectoryUnusable when the engine does not open it.
   */
  static async open(path: string, maxIdle: number): Promise<EmbeddedConnection> {
    const { createChdbConnection, Session, drainPending } = await loadChdb();
    const directory = resolve(path);
    prepareDataDirectory(directory);
    if (findLockOwner(directory) !== undefined) throw new DataDirectoryInUse(path);
    finishRestore(directory);
    markMissingTables(directory);
    repairDeduplicationLogs(directory);
    // Two copies of the same declarations: the engine's package was built against the client's common part.
    const openSession = () => createChdbConnection({ path: directory }) as unknown as Connection;
    try {
      const anchor = new Session(directory, { connectionArgs: ENGINE_ARGUMENTS });
      return new EmbeddedConnection(maxIdle, openSession, anchor, drainPending, directory);
    } catch (error) {
      // Another process may have opened it since the check above.
      throw new ((await isTaken(directory)) ? DataDirectoryInUse : DataDirectoryUnusable)(path, {
        cause: error,
      });
    }
  }

  /** How many sessions run a query, also one whose client disconnected. */
  get busySessions(): number {
    return this.busy.size;
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
    try {
      const result = await operation(session, { ...rest, query } as P);
      this.release(session, true);
      return result;
    } catch (error) {
      this.release(session, false);
      throw error;
    }
  }

  private async acquire(): Promise<Connection> {
    if (this.closing) throw new StoreUnavailable('the store is closing');
    const known = this.idle.pop();
    const session = known ?? this.openAnother();
    this.busy.add(session);
    if (known) return session;
    try {
      await session.command({ query: SET_STATEMENT_SIZE });
      return session;
    } catch (error) {
      this.release(session, false);
      throw error;
    }
  }

  private openAnother(): Connection {
    try {
      return this.openSession();
    } catch (error) {
      throw new StoreUnavailable('no session could be opened', { cause: error });
    }
  }

  private release(session: Connection, isReusable: boolean) {
    this.busy.delete(session);
    if (isReusable && !this.outdated.has(session) && this.idle.length < this.maxIdle) this.idle.push(session);
    else void session.close();
    if (this.busy.size === 0) this.onIdle?.();
  }

  private async closeSessions(): Promise<void> {
    if (this.busy.size > 0)
      await new Promise<void>((ok) => {
        this.onIdle = ok;
      });
    await Promise.all(this.idle.map((session) => session.close()));
    this.anchor.close();
    await this.drainEngine();
    try {
      // After a command of root the service of another account could not link or remove root's files.
      giveToOwner(this.directory, this.directory);
    } catch {
      // Root of a container may not be allowed to.
    }
  }
}
