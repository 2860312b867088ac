import { resolve } from 'node:path';
import type { NodeClickHouseClientConfigOptions } from '@clickhouse/client/dist/config.js';
import { ClickHouseError } from '@clickhouse/client';
import { DataDirectoryInUse, StoreUnavailable } from './clickhouse.errors.js';
import { holderOf, prepareDataDirectory } from './data-directory.js';
import { forgetMissingBlocks } from './deduplication-log.js';
import { loadEngine } from './engine.js';
import { type Parameters, withLiterals } from './literals.js';

type Connection = NonNullable<NodeClickHouseClientConfigOptions['connection']>;
type Params<M extends 'query' | 'exec' | 'command' | 'insert'> = globalThis.Parameters<Connection[M]>[0];

/**
 * The engine inside this process, behind the official client's own connection hook.
 *
 * A session runs its queries one after another, so a few of them share the directory and a slow query leaves the
 * others free. Values become literals here and nowhere else; see `withLiterals`.
 */
export class EmbeddedConnection implements Connection {
  private readonly idle: Connection[];
  private readonly waiting: { take: (session: Connection) => void; fail: (why: Error) => void }[] = [];
  private closing?: Promise<void>;
  private drained?: () => void;

  private constructor(
    private readonly sessions: Connection[],
    private readonly waitMs: number,
    private readonly drainEngine: () => Promise<void>,
  ) {
    this.idle = [...sessions];
  }

  /**
   * Opens the directory, made when missing.
   *
   * @param waitMs how long a query may wait for a free session before it counts as overload.
   * @throws DataDirectoryInUse when another process has it; ConfigError when it cannot be made or written to.
   */
  static async open(path: string, size: number, waitMs: number): Promise<EmbeddedConnection> {
    const { createChdbConnection, drainPending } = await loadEngine();
    const directory = resolve(path);
    prepareDataDirectory(directory);
    if (holderOf(directory) !== undefined) throw new DataDirectoryInUse(path);
    forgetMissingBlocks(directory);
    try {
      // Two copies of the same declarations: the engine's package was built against the client's common part.
      const sessions = Array.from(
        { length: size },
        () => createChdbConnection({ path: directory }) as unknown as Connection,
      );
      return new EmbeddedConnection(sessions, waitMs, drainPending);
    } catch (error) {
      // Somebody may have come first since the look above.
      throw holderOf(directory) === undefined ? error : new DataDirectoryInUse(path, { cause: error });
    }
  }

  /** How many sessions have a query, those included that nobody waits for any more, and how many queries wait for one. */
  get load(): { busy: number; waiting: number } {
    return { busy: this.sessions.length - this.idle.length, waiting: this.waiting.length };
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

  async ping(params: globalThis.Parameters<Connection['ping']>[0]) {
    const session = await this.acquire();
    try {
      return await session.ping(params);
    } finally {
      this.release(session);
    }
  }

  /** Waits for the running queries: a process that exits during one hangs. */
  close(): Promise<void> {
    this.closing ??= this.shut();
    return this.closing;
  }

  private async run<P extends Params<'query'>, R>(
    params: P,
    operation: (session: Connection, bound: P) => Promise<R>,
  ): Promise<R> {
    const { query_params: values, abort_signal: signal, ...rest } = params;
    // Rows of an INSERT stand in its text, and what looks like a placeholder in them is data.
    const query = values ? withLiterals(params.query, values as Parameters) : params.query;
    signal?.throwIfAborted();
    const session = await this.acquire();
    if (signal?.aborted) {
      this.release(session);
      signal.throwIfAborted();
    }
    const work = operation(session, { ...rest, query } as P);
    // The engine cannot interrupt a query: the session stays taken until it is really done, even if nobody waits.
    const done = work.finally(() => {
      this.release(session);
    });
    return signal ? abandonable(done, signal) : done;
  }

  private acquire(): Promise<Connection> {
    if (this.closing) return Promise.reject(new StoreUnavailable('the store is closing'));
    const session = this.idle.pop();
    if (session) return Promise.resolve(session);
    return new Promise((ok, no) => {
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        no(new StoreUnavailable('no session came free in time'));
      }, this.waitMs);
      const waiter = {
        take: (free: Connection) => {
          clearTimeout(timer);
          ok(free);
        },
        fail: (why: Error) => {
          clearTimeout(timer);
          no(why);
        },
      };
      this.waiting.push(waiter);
    });
  }

  private release(session: Connection) {
    const next = this.waiting.shift();
    if (next) next.take(session);
    else this.idle.push(session);
    if (this.idle.length === this.sessions.length) this.drained?.();
  }

  private async shut(): Promise<void> {
    for (const { fail } of this.waiting.splice(0)) fail(new StoreUnavailable('the store is closing'));
    if (this.idle.length < this.sessions.length)
      await new Promise<void>((ok) => {
        this.drained = ok;
      });
    await Promise.all(this.sessions.map((session) => session.close()));
    await this.drainEngine();
  }
}

function abandonable<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((ok, no) => {
    const abort = () => {
      no(
        new ClickHouseError({ message: 'The query was abandoned', code: '394', type: 'QUERY_WAS_CANCELLED' }),
      );
    };
    signal.addEventListener('abort', abort, { once: true });
    work.then(ok, no).finally(() => {
      signal.removeEventListener('abort', abort);
    });
  });
}
