import type { ClickHouseClient } from '@clickhouse/client';
import type { FileFormat } from '../../shared/file-format.js';
import { Slices } from '../../shared/async/slices.js';
import { RequestContext } from '../../telemetry/request-context.js';
import type { Config } from '../../config/config.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { BinaryFrame } from './binary-frame.js';
import {
  StoreUnavailable,
  type StoredDataDamaged,
  isClosedConnection,
  toStoreError,
} from './clickhouse.errors.js';
import { withDeadline } from './deadline.js';
import { EmbeddedConnection } from '../embedded/embedded.connection.js';
import { type EngineConnection, createEngineClient } from '../embedded/engine-client.js';
import { JsonLines } from './json-lines.js';
import { QueryInstrumentation, type QueryMeta } from './query-instrumentation.js';
import { QueryLimiter } from './query-limiter.js';
import type { Parameters } from './query-parameters.js';
import type { ReadStats } from './read-stats.js';
import { type Frame, ResultFrame, unframedError } from './result-frame.js';
import { createServerClient } from './server.client.js';
import { guardFormulas } from './spreadsheet.js';
import { registerStoreMetrics } from './store-metrics.js';
import {
  type QueryRequest,
  type QueryTransport,
  type StoreKind,
  bindValues,
  createTransport,
  readAll,
} from './transport.js';

/** Options of a query. */
export interface QueryOptions {
  /** Threads of the engine; 1 is fastest for a page or a row. */
  threads?: number;
  /**
   * Evaluates skip indexes for the whole range before reading (`use_skip_indexes_on_data_read = 0`): faster
   * for selective filters, slower when the first granules already fill the page.
   */
  prefilterIndexes?: boolean;
  /**
   * Whether the engine may filter rows before it reads other columns than those of the conditions (the
   * default). If all conditions are on a range of the sort key, nearly every row matches anyway, and that
   * step takes a tenth of a short query's time.
   */
  prewhere?: boolean;
  /**
   * Whether the engine may choose projections (the default), which takes a tenth of a short query's time.
   */
  projections?: boolean;
  /** Largest result in bytes, if below the configured limit; beyond it `ResultTooLarge`. */
  maxResultBytes?: number;
  /** No limits on time and read data, for full-table reads. */
  unlimited?: boolean;
  /**
   * Set for a lookup that several requests share: it runs before other queries in the queue, and does not end
   * with its request.
   */
  shared?: boolean;
  /** The team of the query: the queue serves teams in rotation. */
  teamId?: number;
}

/** Options of a command. */
export interface CommandOptions extends Partial<Pick<QueryMeta, 'name' | 'operation'>> {
  /** Milliseconds after which the command counts as timed out. */
  timeoutMs?: number;
}

/** Rows as one file in a public format. */
export interface FileQuery {
  format: FileFormat;
  /** The names of the statement's columns, in their order. The first of them is never null. */
  columns: readonly string[];
  sql: string;
  /** An expression of the columns for a line of NDJSON; by default the engine encodes the row. */
  jsonLine?: string;
  /** Largest number of rows, beyond it `ResultTooLong`; by default only bytes are limited. */
  maxRows?: number;
}

interface ReadRequest extends Omit<QueryRequest, 'format'> {
  frame: Frame;
  /** Settings of the statement, in addition to those of its frame. */
  settings: string;
  /** Called with the read statistics once they are known. */
  stats: ReadStats;
}

/** In each statement's text, because a setting sent beside it would stay in an embedded session. */
const OUTPUT = [
  "date_time_output_format = 'iso'",
  'output_format_json_quote_64bit_integers = 0',
  'output_format_json_escape_forward_slashes = 0',
  "format_csv_null_representation = ''",
];

/** A profile may set overflow modes to `break`; the result would then be silently incomplete. */
const LIMITS_THROW = ['timeout', 'read', 'result'].map((limit) => `${limit}_overflow_mode = 'throw'`);

/**
 * The embedded engine reads a file in the thread of the query. By default it hands each read to another
 * thread, which costs more than a read from the page cache, and a selective query makes many.
 */
const READ_IN_THREAD = "local_filesystem_read_method = 'pread'";

const PREFILTER_INDEXES = 'use_skip_indexes_on_data_read = 0';
const WITHOUT_PREWHERE = 'optimize_move_to_prewhere = 0';
const WITHOUT_PROJECTIONS = 'optimize_use_projections = 0';

/**
 * The engine need not merge the rows of each block by the sort key, an eighth of the processor time of an
 * insert: views group them already, and reads sum or use FINAL. Parsing in several threads takes more
 * processor time in total.
 */
const INSERT_SETTINGS = ['optimize_on_insert = 0', 'input_format_parallel_parsing = 0'];

/**
 * Retries of an insert have the same token. So every table behind the landing table inserts the block once.
 */
const DEDUPLICATION = 'deduplicate_blocks_in_dependent_materialized_views = 1';

/** Longer than the engine's own limit, so that the engine's error arrives first. */
const SLACK_MS = 500;
/** Characters of a statement that takes milliseconds to make. */
const LARGE_STATEMENT = 1024 * 1024;
/** Large blocks are slow, and migrations of large tables slower. */
const INSERT_TIMEOUT_MS = 60_000;
const COMMAND_TIMEOUT_MS = 300_000;
const UNLIMITED_MS = 86_400_000;
/** Orchestrators probe every few seconds. */
const PING_TIMEOUT_MS = 2_000;
const PING = 'SELECT version() AS version';
const PING_SETTINGS = "log_comment = 'ping'";
/** Each queued query keeps a request in memory. */
const MAX_QUEUE_LENGTH = 1_000;

/**
 * The only access to the store. Callers cannot distinguish the embedded engine from a server: both use the
 * official client, the same SQL and the same tables.
 *
 * Every read has a name (its `log_comment`), bound values, and limits on time, memory, threads, bytes read
 * and bytes of the result. At most `concurrency` reads run at once; the others queue. When an HTTP request is
 * aborted, its reads reject with the reason of its signal: queued ones leave the queue, and running ones are
 * cancelled on a server. Other failures are `StoreUnavailable`, `QueryTimedOut`, or the client's own error.
 */
export class ClickHouse {
  /** The engine's version, from the last successful `ping`. */
  version?: string;
  /** Called for every statement that failed on damaged data. */
  onDamage?: (error: StoredDataDamaged) => void;
  private readonly limits: string;
  private readonly withoutLimits: string;
  private readonly maxResultBytes: number;
  private readonly timeoutMs: number;
  private readonly limiter: QueryLimiter;
  /** Limits the statements of other processes, in rotation by process. */
  private readonly relayed: QueryLimiter;
  private readonly instrumentation: QueryInstrumentation;
  private readonly transport: QueryTransport;
  /** Number of inserts of this process, by table. */
  private readonly inserts = new Map<string, number>();
  private closed = false;

  private constructor(
    private readonly client: ClickHouseClient,
    config: Config['clickhouse'],
    telemetry: Telemetry,
    readonly kind: StoreKind,
    /** The engine in this process. */
    private readonly embedded?: EmbeddedConnection,
  ) {
    this.transport = createTransport(client, kind);
    const timeoutMs = config.queryTimeoutSeconds * 1000;
    const limits = (seconds: number, bytes: number) =>
      [
        `max_execution_time = ${seconds}`,
        `max_memory_usage = ${config.queryMaxMemoryBytes}`,
        `max_bytes_to_read = ${bytes}`,
        ...LIMITS_THROW,
        ...OUTPUT,
        ...(kind === 'embedded' ? [READ_IN_THREAD] : []),
      ].join(', ');
    this.limits = limits(config.queryTimeoutSeconds, config.queryMaxReadBytes);
    this.withoutLimits = limits(0, 0);
    this.maxResultBytes = config.queryMaxResultBytes;
    this.timeoutMs = timeoutMs + SLACK_MS;
    // One connection is reserved for pings and writes, which do not use the queue.
    const concurrency =
      kind === 'embedded' ? config.embeddedSessions : Math.max(1, config.maxConnections - 1);
    this.limiter = new QueryLimiter(concurrency, MAX_QUEUE_LENGTH, timeoutMs / 2);
    // Separate from the limit on reads, because a backup can take hours: with a single slot no other
    // statement would run during it.
    this.relayed = new QueryLimiter(Math.max(2, concurrency), MAX_QUEUE_LENGTH, UNLIMITED_MS);
    this.instrumentation = new QueryInstrumentation(
      telemetry,
      kind === 'embedded' ? 'default' : config.database,
      (error) => {
        this.onDamage?.(error);
      },
    );
    if (telemetry.metrics) registerStoreMetrics(telemetry.metrics, this.limiter, embedded);
  }

  /**
   * Opens a client of the configured store; with `database: ''` the database need not exist. A server need
   * not be available yet; the embedded engine is opened.
   *
   * @throws DataDirectoryInUse
   */
  static async open(
    config: Config,
    { database, telemetry = Telemetry.none }: { database?: string; telemetry?: Telemetry } = {},
  ): Promise<ClickHouse> {
    const { clickhouse, dataDir } = config;
    if (clickhouse.url !== undefined) {
      const client = createServerClient(config, database ?? clickhouse.database);
      return new ClickHouse(client, clickhouse, telemetry, 'server');
    }
    const connection = await EmbeddedConnection.open(dataDir, clickhouse.embeddedSessions);
    return new ClickHouse(createEngineClient(connection), clickhouse, telemetry, 'embedded', connection);
  }

  /** Opens the embedded engine of the server that has the data directory open, through its socket. */
  static openSocket(config: Config, connection: EngineConnection): ClickHouse {
    return new ClickHouse(createEngineClient(connection), config.clickhouse, Telemetry.none, 'embedded');
  }

  /** The rows as objects; `Row` is the row type of the SELECT, with integers up to 2^53. */
  async rows<Row>(name: string, sql: string, params?: Parameters, options?: QueryOptions): Promise<Row[]> {
    return parseRows<Row>(await this.bytes(new ResultFrame('json'), name, sql, params, options));
  }

  /** The raw rows of a SELECT of one column, which is text without line feeds: neither parsed nor decoded. */
  async jsonLines(
    name: string,
    sql: string,
    params?: Parameters,
    options?: QueryOptions,
  ): Promise<JsonLines> {
    return new JsonLines(await this.bytes(new ResultFrame('text'), name, sql, params, options));
  }

  /** The rows of a SELECT as one file. */
  async file(
    name: string,
    { format, columns, sql, jsonLine, maxRows }: FileQuery,
    params?: Parameters,
    options?: QueryOptions,
  ): Promise<Buffer> {
    const limit = maxRows === undefined ? '' : `\nWHERE NOT throwIf(rowNumberInAllBlocks() >= ${maxRows})`;
    const read = (frame: Frame, selected?: string) => {
      // Without a subquery, which takes a tenth of the time of a short query.
      const isWhole = selected === undefined && maxRows === undefined;
      const statement = isWhole ? sql : `SELECT ${selected ?? columns.join(', ')} FROM (${sql}\n)${limit}`;
      return this.bytes(frame, name, statement, params, options);
    };
    switch (format) {
      case 'ndjson':
        return jsonLine === undefined
          ? read(new ResultFrame('ndjson', columns))
          : read(new ResultFrame('text'), jsonLine);
      case 'csv':
        return read(new ResultFrame('csv', columns));
      case 'csv_spreadsheet':
        return guardFormulas(await read(new ResultFrame('csv', columns)));
      case 'arrow':
      case 'parquet': {
        const [first = '', ...others] = columns;
        const frame = new BinaryFrame(format, first);
        return read(frame, [`${first} AS ${frame.taggedName}`, ...others].join(', '));
      }
    }
  }

  /**
   * Runs a statement without rows: DDL, or an INSERT with its data. Without `params`, its text has no
   * placeholders.
   */
  async command(sql: string, params?: Parameters, options: CommandOptions = {}): Promise<void> {
    const { name = 'command', operation = 'COMMAND', timeoutMs = COMMAND_TIMEOUT_MS } = options;
    const run = async (signal: AbortSignal) => {
      try {
        this.requireOpen();
        // The text of an INSERT contains its rows; a placeholder in them would be data.
        const statement = params ? bindValues(this.kind, sql, params) : { query: sql };
        await this.client.command({ ...statement, abort_signal: signal });
      } catch (error) {
        throw toStoreError(error, this.kind);
      }
    };
    await this.instrumentation.observe({ name, operation }, () => withDeadline(timeoutMs, undefined, run));
  }

  /**
   * Inserts rows. Each text is one JSON object, or several, separated by commas. Or one text has arrays: the
   * names of the columns, then the values of each row; the engine reads arrays in 0.7 of the time. Resolves
   * once the engine acknowledged the rows. If it rejects, the rows may be written, now or later.
   *
   * @param token deduplication token: a second insert with the same token changes nothing, in any table
   * behind this one
   */
  async insert(table: string, rows: readonly string[], token?: string): Promise<void> {
    const format = rows[0]?.startsWith('[') ? 'JSONCompactEachRowWithNames' : 'JSONEachRow';
    await this.insertAs(format, table, '', rows, token);
  }

  /**
   * Inserts lines of tab-separated raw values. They have no escapes, so values cannot contain tabs or line
   * feeds. For long texts, which JSON would escape.
   *
   * @param columns their names, separated by commas
   */
  async insertRaw(table: string, columns: string, lines: readonly string[], token?: string): Promise<void> {
    await this.insertAs('TabSeparatedRaw', table, ` (${columns})`, lines, token);
  }

  /** Whether the store responds within two seconds and has the database; never throws. */
  async ping(): Promise<boolean> {
    const select = async (stats: ReadStats) => {
      const read = (signal: AbortSignal) =>
        this.read({
          frame: new ResultFrame('json'),
          query: PING,
          settings: PING_SETTINGS,
          params: {},
          signal,
          stats,
        });
      const [row] = parseRows<{ version: string }>(await withDeadline(PING_TIMEOUT_MS, undefined, read));
      this.version = row?.version;
    };
    return this.instrumentation.observe({ name: 'ping', operation: 'SELECT' }, select).then(
      () => true,
      () => false,
    );
  }

  /**
   * A number that changes with every insert into a table, before the insert is acknowledged. Undefined if
   * other processes insert, as on a server.
   */
  getVersion(table: string): number | undefined {
    return this.embedded && (this.inserts.get(table) ?? 0);
  }

  /** Closes the client. Embedded: waits for running queries; on a server they end with their connections. */
  async close(): Promise<void> {
    this.closed = true;
    await this.client.close();
  }

  private async insertAs(
    format: 'JSONEachRow' | 'JSONCompactEachRowWithNames' | 'TabSeparatedRaw',
    table: string,
    columns: string,
    rows: readonly string[],
    token: string | undefined,
  ): Promise<void> {
    if (rows.length === 0) return;
    const settings = [
      ...INSERT_SETTINGS,
      ...(token === undefined ? [] : [`insert_deduplication_token = '${requireHex(token)}'`, DEDUPLICATION]),
    ].join(', ');
    // One concatenation: a block has some MB, and a separate join would keep it in memory twice.
    const sql = [`INSERT INTO ${table}${columns} SETTINGS ${settings} FORMAT ${format}`, ...rows].join('\n');
    // The client encodes it in one step, which takes as long again.
    if (sql.length > LARGE_STATEMENT) await new Slices().giveWay();
    const options = { name: `${table}.insert`, operation: 'INSERT', timeoutMs: INSERT_TIMEOUT_MS } as const;
    try {
      await this.command(sql, undefined, options);
    } finally {
      this.countInsert(table);
    }
  }

  private countInsert(table: string) {
    this.inserts.set(table, (this.inserts.get(table) ?? 0) + 1);
  }

  /**
   * Runs a statement of another process of this machine as it is; its values are already literals. Each
   * process gets its turn in rotation. Settles once the engine is done with it.
   *
   * @param process number of the process
   * @param signal aborts when the process no longer waits: a queued statement leaves the queue, and a read is
   * cancelled
   * @returns the result in the format of the statement, and the engine's summary
   */
  relay(
    statement: string,
    process?: number,
    signal = new AbortController().signal,
  ): Promise<{ result: Buffer; summary: unknown }> {
    const run = async () => {
      this.requireOpen();
      const inserted = /^INSERT INTO (\w+)/.exec(statement)?.[1];
      try {
        const { stream, summary } = await this.client.exec({ query: statement, abort_signal: signal });
        return { result: await readAll(stream), summary };
      } finally {
        if (inserted !== undefined) this.countInsert(inserted);
      }
    };
    return this.relayed.run(signal, run, { group: process });
  }

  private bytes(
    frame: Frame,
    name: string,
    sql: string,
    params: Parameters = {},
    options: QueryOptions = {},
  ): Promise<Buffer> {
    const maxResultBytes = Math.min(options.maxResultBytes ?? Infinity, this.maxResultBytes);
    const settings = [
      `max_threads = ${options.threads ?? 1}`,
      `max_result_bytes = ${maxResultBytes}`,
      `log_comment = '${name}'`,
      options.unlimited ? this.withoutLimits : this.limits,
      ...(options.prefilterIndexes ? [PREFILTER_INDEXES] : []),
      ...(options.prewhere === false ? [WITHOUT_PREWHERE] : []),
      ...(options.projections === false ? [WITHOUT_PROJECTIONS] : []),
    ].join(', ');
    const { shared, unlimited, teamId } = options;
    const abort = shared ? undefined : RequestContext.current?.signal;
    return this.instrumentation.observe({ name, operation: 'SELECT' }, (stats) =>
      withDeadline(unlimited ? UNLIMITED_MS : this.timeoutMs, abort, (signal) =>
        this.limiter.run(signal, () => this.read({ frame, query: sql, settings, params, signal, stats }), {
          highPriority: shared,
          group: teamId,
        }),
      ),
    );
  }

  private async read({ stats, frame, query, settings, ...request }: ReadRequest): Promise<Buffer> {
    const { signal } = request;
    try {
      this.requireOpen();
      const response = await this.send({
        ...request,
        query: `${query}\nSETTINGS ${settings}, ${frame.settings}`,
        format: frame.formatName,
      });
      Object.assign(stats, response.stats);
      const bytes = response.bytes();
      signal.addEventListener('abort', response.cancel, { once: true });
      if (signal.aborted) response.cancel();
      const result = await bytes;
      const rows = frame.unwrap(result);
      if (rows) return rows;
      this.embedded?.replaceSessions();
      throw unframedError(result);
    } catch (error) {
      throw toStoreError(error, this.kind);
    }
  }

  private requireOpen() {
    if (this.closed) throw new StoreUnavailable('the store is closed');
  }

  private send(request: QueryRequest) {
    return this.transport(request).catch((error: unknown) => {
      // The server may close a keep-alive connection at this moment; it has not seen the query then.
      if (request.signal.aborted || !isClosedConnection(error)) throw error;
      return this.transport(request);
    });
  }
}

/** The rows of a result in JSON: an array of column names, then one of values for each row. */
function parseRows<Row>(result: Buffer): Row[] {
  const [names, ...rows] = JSON.parse(`[${new JsonLines(result).joinFirst(Infinity).toString()}]`) as [
    string[],
    ...unknown[][],
  ];
  return rows.map((values) => Object.fromEntries(names.map((name, index) => [name, values[index]])) as Row);
}

function requireHex(token: string): string {
  if (!/^[0-9a-f]+$/.test(token)) throw new TypeError('A deduplication token is lower-case hex');
  return token;
}
