import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DataDirectoryInUse, DataDirectoryUnusable, StoreUnavailable } from '../client/clickhouse.errors.js';
import { MAX_STATEMENT_BYTES, type Parameters, renderParameters } from '../client/query-parameters.js';
import { loadChdb } from './chdb.js';
import type { EngineConnection, EngineParams } from './engine-client.js';
import { findLockOwner, isOpen, isTaken, markMissingTables, prepareDataDirectory } from './data-directory.js';
import { giveToOwner } from './owner.js';
import { discardPartList, markMissingParts, recordParts } from './part-list.js';
import { finishRestore } from './restored-data.js';
import { repairDeduplicationLogs } from './deduplication-log.js';

/**
 * Settings of the engine that only its first session can set. Backups can be anywhere. By default only four
 * merges and mutations run at once, and a mutation that gets no slot is tried again after up to a second;
 * `app delete` makes a mutation for each table.
 */
const ENGINE_ARGUMENTS = [
  '--backups.allowed_path=/',
  '--background_merges_mutations_concurrency_ratio=4',
  '--background_processing_pool_task_sleep_seconds_when_no_work_random_part=0.1',
];

/** The engine needs this setting before it reads a statement, so the session sets it. */
const SET_STATEMENT_SIZE = `SET max_query_size = ${MAX_STATEMENT_BYTES}`;

/** Statements that may be interrupted at any time, because they write nothing. */
const READ = /^\s*(?:SELECT|WITH)\b/i;
/**
 * The engine does not find a statement that it has not begun yet, so the search is repeated after this many
 * milliseconds.
 */
const CANCEL_EVERY_MS = 250;

/**
 * The engine inside this process, behind the official client's own connection hook.
 *
 * A session runs its queries one after another, so each query has its own session while it runs;
 * `QueryLimiter` limits their number. A promise settles once the engine is done, even if the query's signal
 * was aborted before: the engine then cancels a read, and finishes a write. Values become literals; see
 * `renderParameters`.
 *
 * A session is never used again after a failed query: the engine may return rows of the failed query to the
 * next one (docs/chdb-leftover-rows.mjs). Opening a new session takes less than a millisecond.
 */
export class EmbeddedConnection implements EngineConnection {
  private readonly idle: EngineConnection[] = [];
  private readonly busy = new Set<EngineConnection>();
  /** Busy sessions that must not be used again. */
  private readonly outdated = new WeakSet<EngineConnection>();
  private reads = 0;
  private closing?: Promise<void>;
  private onIdle?: () => void;

  private constructor(
    private readonly maxIdle: number,
    private readonly openSession: () => EngineConnection,
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
    // First: the next line makes the directories of missing tables.
    markMissingParts(directory);
    markMissingTables(directory);
    repairDeduplicationLogs(directory);
    // The two types are two copies of the same declarations: the engine's package was built against the
    // client's common part.
    const openSession = () => createChdbConnection({ path: directory }) as unknown as EngineConnection;
    try {
      const anchor = new Session(directory, { connectionArgs: ENGINE_ARGUMENTS });
      // A process that just closed the directory may have written the list after the check above.
      discardPartList(directory);
      return new EmbeddedConnection(maxIdle, openSession, anchor, drainPending, directory);
    } catch (error) {
      // Another process may have opened the directory after the check above.
      throw new ((await isTaken(directory)) ? DataDirectoryInUse : DataDirectoryUnusable)(path, {
        cause: error,
      });
    }
  }

  /** Number of sessions that run a query, including queries whose client disconnected. */
  get busySessions(): number {
    return this.busy.size;
  }

  exec(params: EngineParams<'exec'>) {
    return this.run(params, (session, bound) => session.exec(bound));
  }

  command(params: EngineParams<'command'>) {
    return this.run(params, (session, bound) => session.command(bound));
  }

  /** Discards all current sessions, because one of them returned a result of another query. */
  replaceSessions(): void {
    for (const session of this.busy) this.outdated.add(session);
    for (const session of this.idle.splice(0)) this.discard(session);
  }

  /** Waits for the running queries: a process that exits during a query hangs. */
  close(): Promise<void> {
    this.closing ??= this.closeSessions();
    return this.closing;
  }

  private async run<P extends EngineParams<'command'>, R>(
    params: P,
    operation: (session: EngineConnection, bound: P) => Promise<R>,
    isWhileClosing = false,
  ): Promise<R> {
    const { query_params: values, abort_signal: signal, ...rest } = params;
    // The text of an INSERT contains its rows; a placeholder in them would be data.
    const statement = values ? renderParameters(params.query, values as Parameters) : params.query;
    signal?.throwIfAborted();
    const mark = signal && READ.test(statement) ? `/* ${(this.reads += 1)} */ ` : '';
    if (this.closing && !isWhileClosing) throw new StoreUnavailable('the store is closing');
    const session = await this.acquire();
    let hasEnded = false;
    const cancel = () => void this.cancel(mark, () => hasEnded);
    try {
      signal?.throwIfAborted();
      if (mark !== '') signal?.addEventListener('abort', cancel);
      const result = await operation(session, { ...rest, query: mark + statement } as P);
      this.release(session, true);
      return result;
    } catch (error) {
      this.release(session, false);
      throw error;
    } finally {
      hasEnded = true;
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Cancels the read whose statement begins with `mark`. */
  private async cancel(mark: string, hasEnded: () => boolean): Promise<void> {
    try {
      while (!hasEnded()) {
        const query = `KILL QUERY WHERE startsWith(query, '${mark}') ASYNC`;
        await this.run({ query }, (session, bound) => session.command(bound), true);
        await pause(CANCEL_EVERY_MS, undefined, { ref: false });
      }
    } catch (error) {
      if (!hasEnded()) warn(`a read was not cancelled: ${String(error)}`);
    }
  }

  private async acquire(): Promise<EngineConnection> {
    const idle = this.idle.pop();
    const session = idle ?? this.openAnother();
    this.busy.add(session);
    if (idle) return session;
    try {
      await session.command({ query: SET_STATEMENT_SIZE });
      return session;
    } catch (error) {
      this.release(session, false);
      throw error;
    }
  }

  private openAnother(): EngineConnection {
    try {
      return this.openSession();
    } catch (error) {
      throw new StoreUnavailable('no session could be opened', { cause: error });
    }
  }

  private release(session: EngineConnection, isReusable: boolean) {
    this.busy.delete(session);
    if (isReusable && !this.outdated.has(session) && this.idle.length < this.maxIdle) this.idle.push(session);
    else this.discard(session);
    if (this.busy.size === 0) this.onIdle?.();
  }

  private discard(session: EngineConnection): void {
    session.close().catch((error: unknown) => {
      warn(`a session was not closed: ${String(error)}`);
    });
  }

  private async closeSessions(): Promise<void> {
    if (this.busy.size > 0)
      await new Promise<void>((ok) => {
        this.onIdle = ok;
      });
    await Promise.all(this.idle.map((session) => session.close()));
    this.anchor.close();
    await this.drainEngine();
    recordParts(this.directory);
    // Another connection or process has it open.
    if (isOpen(this.directory)) discardPartList(this.directory);
    try {
      // Root may have run this command. Without the change, a service of another account could not link or
      // remove root's files.
      giveToOwner(this.directory, this.directory);
    } catch {
      // Root of a container may lack that permission.
    }
  }
}

/** The logger is loaded only here: most commands need no framework. */
function warn(line: string): void {
  void import('@nestjs/common').then(({ Logger }) => {
    new Logger(EmbeddedConnection.name).warn(line);
  });
}
