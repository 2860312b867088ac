import { type ClickHouseClient, createClient } from '@clickhouse/client';
import type { FileFormat } from '../common/formats/file-format.js';
import type { Config } from '../config/config.js';
import { Telemetry } from '../observability/telemetry.js';
import { BinaryFrame } from './binary-frame.js';
import {
  StoreUnavailable,
  type StoredDataDamaged,
  isClosedConnection,
  toStoreError,
} from './clickhouse.errors.js';
import { withDeadline } from './deadline.js';
import { EmbeddedConnection } from './embedded/embedded.connection.js';
import { JsonLines } from './json-lines.js';
import { QueryInstrumentation, type QueryMeta } from './query-instrumentation.js';
import { QueryLimiter } from './query-limiter.js';
import type { Parameters } from './query-parameters.js';
import type { ReadStats } from './read-stats.js';
import { type Frame, ResultFrame, unframedError } from './result-frame.js';
import { createServerClient } from './server.client.js';
import { registerStoreMetrics } from './store-metrics.js';
import {
  type QueryRequest,
  type QueryTransport,
  createEmbeddedTransport,
  createHttpTransport,
} from './transport.js';

/** How a query differs from the usual. */
export interface QueryOptions {
  /** Threads the engine may use; 1 is fastest for what reads a page or a row. */
  threads?: number;
  /**
   * Evaluates skip indexes for the whole range before reading (`use_skip_indexes_on_data_read = 0`): faster for selective
   * filters, slower when the first granules already fill the page.
   */
  prefilterIndexes?: boolean;
  /** Bytes that the result may have, where that is less than the configured limit; more are `ResultTooLarge`. */
  maxResultBytes?: number;
  /** Without limits on its time and on what it reads: for what reads all of a table. */
  unlimited?: boolean;
  /** Runs before other queries in the queue: other requests are blocked on this lookup. */
  highPriority?: boolean;
  /** The team that it is for: those that wait for their turn are served in rotation by team. */
  teamId?: number;
  /** Ends the wait, and on a server the query, when the response is not needed any more; its reason is thrown. */
  signal?: AbortSignal | undefined;
  /** Attribute read statistics to this request, but do not cancel the query with it (shared lookups). */
  attributeTo?: AbortSignal | undefined;
}

/** How a command differs from the usual. */
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
  /** An expression of the columns that is a row's line of NDJSON, where a column holds JSON text; the engine's own without it. */
  jsonLine?: string;
  /** More are `ResultTooLong`; without it there is no limit but that on bytes. */
  maxRows?: number;
  /** The only column is the text of a whole row in the format, which is `ndjson`. */
  isText?: boolean;
}

interface ReadRequest extends Omit<QueryRequest, 'format'> {
  frame: Frame;
  /** Settings of the statement, beside those of its frame. */
  settings: string;
  /** Takes what was read, once that is known. */
  stats: ReadStats;
}

/** Set in each statement, because a setting sent beside it would stick to an embedded session. */
const OUTPUT = [
  "date_time_output_format = 'iso'",
  'output_format_json_quote_64bit_integers = 0',
  'output_format_json_escape_forward_slashes = 0',
  'output_format_json_validate_utf8 = 1',
  "format_csv_null_representation = ''",
];

/** A profile may say that a limit ends a query quietly: a part of the rows would look like all of them. */
const LIMITS_THROW = ['timeout', 'read', 'result'].map((limit) => `${limit}_overflow_mode = 'throw'`);

const PREFILTER_INDEXES = 'use_skip_indexes_on_data_read = 0';

/** Retries of one insert carry one token: every table behind the landing takes the block once. */
const DEDUPLICATION = 'deduplicate_blocks_in_dependent_materialized_views = 1';

/** Later than the engine's own limit, so that the engine's answer comes first. */
const SLACK_MS = 500;
/** Large blocks take their time, and migrations of large tables more. */
const INSERT_TIMEOUT_MS = 60_000;
const COMMAND_TIMEOUT_MS = 300_000;
const UNLIMITED_MS = 86_400_000;
/** Orchestrators ask every few seconds. */
const PING_TIMEOUT_MS = 2_000;
const PING = 'SELECT version() AS version';
const PING_SETTINGS = "log_comment = 'ping'";
/** Each that waits holds a request in memory. */
const MAX_QUEUE_LENGTH = 1_000;

/**
 * The only access to the store. Nothing above it knows whether the engine runs here or on a server: both are the
 * official client, the same SQL and the same tables.
 *
 * Every read is named (the name is its `log_comment`), bound, and limited in time, memory, threads, bytes read and bytes of
 * the result; so many run at once, and the others wait in a queue. Failures are `StoreUnavailable`, `QueryTimedOut`, or
 * the client's own error.
 */
export class ClickHouse {
  readonly kind: 'server' | 'embedded';
  /** The engine's version, as the last `ping` that was answered told it. */
  version?: string;
  /** Hears of every statement that met damaged data. */
  onDamage?: (error: StoredDataDamaged) => void;
  private readonly limits: string;
  private readonly withoutLimits: string;
  private readonly maxResultBytes: number;
  private readonly timeoutMs: number;
  private readonly limiter: QueryLimiter;
  private readonly instrumentation: QueryInstrumentation;
  private readonly transport: QueryTransport;
  private closed = false;

  private constructor(
    private readonly client: ClickHouseClient,
    config: Config['clickhouse'],
    telemetry: Telemetry,
    private readonly embedded?: EmbeddedConnection,
  ) {
    this.kind = embedded ? 'embedded' : 'server';
    this.transport = embedded ? createEmbeddedTransport(client) : createHttpTransport(client);
    const timeoutMs = config.queryTimeoutSeconds * 1000;
    const limits = (seconds: number, bytes: number) =>
      [
        `max_execution_time = ${seconds}`,
        `max_memory_usage = ${config.queryMaxMemoryBytes}`,
        `max_bytes_to_read = ${bytes}`,
        ...LIMITS_THROW,
        ...OUTPUT,
      ].join(', ');
    this.limits = limits(config.queryTimeoutSeconds, config.queryMaxReadBytes);
    this.withoutLimits = limits(0, 0);
    this.maxResultBytes = config.queryMaxResultBytes;
    this.timeoutMs = timeoutMs + SLACK_MS;
    // One connection is reserved for what does not queue: pings and writes.
    const concurrency = embedded ? config.embeddedSessions : Math.max(1, config.maxConnections - 1);
    this.limiter = new QueryLimiter(concurrency, MAX_QUEUE_LENGTH, timeoutMs / 2);
    this.instrumentation = new QueryInstrumentation(
      telemetry,
      embedded ? 'default' : config.database,
      (error) => {
        this.onDamage?.(error);
      },
    );
    if (telemetry.metrics) registerStoreMetrics(telemetry.metrics, this.limiter, embedded);
  }

  /**
   * A client for the configured place; with `database: ''` one that does not expect the database to be there. A server
   * need not be there yet; the embedded engine is opened.
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
      return new ClickHouse(client, clickhouse, telemetry);
    }
    const timeoutMs = clickhouse.queryTimeoutSeconds * 1000;
    const connection = await EmbeddedConnection.open(dataDir, clickhouse.embeddedSessions, timeoutMs);
    return new ClickHouse(createClient({ connection }), clickhouse, telemetry, connection);
  }

  /** The rows as objects; `Row` is what the SELECT gives, integers up to 2^53. */
  async rows<Row>(name: string, sql: string, params?: Parameters, options?: QueryOptions): Promise<Row[]> {
    return parseRows<Row>(await this.bytes(new ResultFrame('json'), name, sql, params, options));
  }

  /** The rows of a SELECT of one column, which is text without line feeds: as they are, not parsed and not decoded. */
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
    { format, columns, sql, jsonLine, maxRows, isText = false }: FileQuery,
    params?: Parameters,
    options?: QueryOptions,
  ): Promise<Buffer> {
    const limit = maxRows === undefined ? '' : `\nWHERE NOT throwIf(rowNumberInAllBlocks() >= ${maxRows})`;
    const read = (frame: Frame, selected: string) =>
      this.bytes(frame, name, `SELECT ${selected} FROM (${sql}\n)${limit}`, params, options);
    const names = columns.join(', ');
    switch (format) {
      case 'ndjson':
        return read(
          new ResultFrame('text'),
          jsonLine ?? (isText ? names : `formatRowNoNewline('JSONEachRow', ${names})`),
        );
      case 'csv': {
        const rows = await read(new ResultFrame('crlf'), `formatRowNoNewline('CSV', ${names})`);
        return Buffer.concat([Buffer.from(`${columns.join()}\r\n`), rows]);
      }
      case 'arrow':
      case 'parquet': {
        const [first = '', ...others] = columns;
        const frame = new BinaryFrame(format, first);
        return read(frame, [`${first} AS ${frame.taggedName}`, ...others].join(', '));
      }
    }
  }

  /** A statement without rows: DDL, or an INSERT with all it needs. Without values, nothing in it is a placeholder. */
  async command(sql: string, params?: Parameters, options: CommandOptions = {}): Promise<void> {
    const { name = 'command', operation = 'COMMAND', timeoutMs = COMMAND_TIMEOUT_MS } = options;
    const run = async (signal: AbortSignal) => {
      try {
        this.requireOpen();
        const values = params && { query_params: params };
        await this.client.command({ query: sql, ...values, abort_signal: signal });
      } catch (error) {
        throw toStoreError(error, this.kind);
      }
    };
    await this.instrumentation.observe({ name, operation }, () => withDeadline(timeoutMs, undefined, run));
  }

  /**
   * Writes rows, each text that of one object in JSON, or of several with commas between them (JSONEachRow takes both);
   * resolves once the engine acknowledged them. When it rejects, they may have been written or may yet be.
   *
   * @param token the block's identity: the same token again changes nothing, in any table behind it.
   */
  async insert(table: string, rows: readonly string[], token?: string): Promise<void> {
    await this.insertAs('JSONEachRow', table, '', rows, token);
  }

  /**
   * The same with lines of values that are separated by tabs and stand for themselves, without escapes: neither tabs nor
   * line feeds can be in them. For long texts, which JSON would escape.
   *
   * @param columns their names, separated by commas
   */
  async insertRaw(table: string, columns: string, lines: readonly string[], token?: string): Promise<void> {
    await this.insertAs('TabSeparatedRaw', table, ` (${columns})`, lines, token);
  }

  /** Whether the store answers within two seconds and has the database; never throws. */
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

  /** Nothing is asked any more. Embedded: waits for running queries; on a server they end with their connections. */
  async close(): Promise<void> {
    this.closed = true;
    await this.client.close();
  }

  private async insertAs(
    format: 'JSONEachRow' | 'TabSeparatedRaw',
    table: string,
    columns: string,
    rows: readonly string[],
    token: string | undefined,
  ): Promise<void> {
    if (rows.length === 0) return;
    const settings =
      token === undefined
        ? ''
        : ` SETTINGS insert_deduplication_token = '${requireHex(token)}', ${DEDUPLICATION}`;
    // In one step: a block has some MB, and joined before its head it would be in memory twice.
    const sql = [`INSERT INTO ${table}${columns}${settings} FORMAT ${format}`, ...rows].join('\n');
    await this.command(sql, undefined, {
      name: `${table}.insert`,
      operation: 'INSERT',
      timeoutMs: INSERT_TIMEOUT_MS,
    });
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
    ].join(', ');
    const statement: QueryMeta = {
      name,
      operation: 'SELECT',
      attributeTo: options.signal ?? options.attributeTo,
    };
    return this.instrumentation.observe(statement, (stats) =>
      withDeadline(options.unlimited ? UNLIMITED_MS : this.timeoutMs, options.signal, (signal) =>
        this.limiter.run(signal, () => this.read({ frame, query: sql, settings, params, signal, stats }), {
          highPriority: options.highPriority,
          group: options.teamId,
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
      // A kept connection can be closed just as it is used: then the server never saw the question.
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
