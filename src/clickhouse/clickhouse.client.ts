import { type ClickHouseClient, createClient } from '@clickhouse/client';
import type { FileFormat } from '../common/formats/file-format.js';
import type { Config } from '../config/config.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { type Ask, type Question, askEngine, askServer } from './ask.js';
import { BinaryFrame } from './binary-frame.js';
import {
  StoreUnavailable,
  type StoredDataDamaged,
  isClosedConnection,
  storeError,
} from './clickhouse.errors.js';
import { EmbeddedConnection } from './embedded.connection.js';
import { JsonLines } from './json-lines.js';
import type { Parameters } from './literals.js';
import { showLoad } from './load.js';
import { withPatience } from './patience.js';
import type { Reads } from './reads.js';
import { type Frame, ResultFrame, unframedError } from './result-frame.js';
import { createServerClient } from './server.client.js';
import { Turns } from './turns.js';
import { type Statement, Watch } from './watch.js';

/** How a query differs from the usual. */
export interface QueryOptions {
  /** Threads the engine may use; 1 is fastest for what reads a page or a row. */
  threads?: number;
  /**
   * Looks into the indexes for all of the window before it reads any of it: for what few rows fulfil. As a rule the engine
   * looks into them as it reads, which pays where it has enough soon.
   */
  indexesFirst?: boolean;
  /** Bytes that the result may have, where that is less than the configured limit; more are `ResultTooLarge`. */
  maxResultBytes?: number;
  /** Without limits on its time and on what it reads: for what reads all of a table. */
  unlimited?: boolean;
  /** Goes before other queries that wait for their turn: requests wait for it that will ask more. */
  first?: boolean;
  /** The team that it is for: those that wait for their turn are served in rotation by team. */
  teamId?: number;
  /** Ends the wait, and on a server the query, when nobody wants the answer any more; its reason is thrown. */
  signal?: AbortSignal | undefined;
  /** The patience of the request that it is for, where it is not to end with it: what it reads counts as the request's. */
  asker?: AbortSignal | undefined;
}

/** How a command differs from the usual. */
export interface CommandOptions extends Partial<Pick<Statement, 'name' | 'operation'>> {
  /** Milliseconds after which nobody waits any more. */
  withinMs?: number;
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

interface Read extends Omit<Question, 'format'> {
  frame: Frame;
  /** Settings of the statement, beside those of its frame. */
  settings: string;
  /** Takes what was read, once that is known. */
  reads: Reads;
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

const INDEXES_FIRST = 'use_skip_indexes_on_data_read = 0';

/** Retries of one insert carry one token: every table behind the landing takes the block once. */
const DEDUPLICATION = 'deduplicate_blocks_in_dependent_materialized_views = 1';

/** Later than the engine's own limit, so that the engine's answer comes first. */
const SLACK_MS = 500;
/** Large blocks take their time, and migrations of large tables more. */
const INSERT_MS = 60_000;
const COMMAND_MS = 300_000;
const UNLIMITED_MS = 86_400_000;
/** Orchestrators ask every few seconds. */
const PING_MS = 2_000;
const PING = 'SELECT version() AS version';
const PING_SETTINGS = "log_comment = 'ping'";
/** Each that waits holds a request in memory. */
const LONGEST_LINE = 1_000;

/**
 * The only door to the store. Nothing above it knows whether the engine runs here or on a server: both are the
 * official client, the same SQL and the same tables.
 *
 * Every read is named (the name is its `log_comment`), bound, and limited in time, memory, threads, bytes read and bytes of
 * the result; so many run at once, and the others wait for their turn. Failures are `StoreUnavailable`, `QueryTimedOut`, or
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
  private readonly patienceMs: number;
  private readonly turns: Turns;
  private readonly watch: Watch;
  private readonly ask: Ask;
  private closed = false;

  private constructor(
    private readonly client: ClickHouseClient,
    config: Config['clickhouse'],
    telemetry: Telemetry,
    private readonly embedded?: EmbeddedConnection,
  ) {
    this.kind = embedded ? 'embedded' : 'server';
    this.ask = embedded ? askEngine(client) : askServer(client);
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
    this.patienceMs = timeoutMs + SLACK_MS;
    // One connection is kept for what takes no turn: whether the store is there, and writing.
    const atOnce = embedded ? config.embeddedSessions : Math.max(1, config.maxConnections - 1);
    this.turns = new Turns(atOnce, LONGEST_LINE, timeoutMs / 2);
    this.watch = new Watch(telemetry, embedded ? 'default' : config.database, (error) => {
      this.onDamage?.(error);
    });
    if (telemetry.metrics) showLoad(telemetry.metrics, this.turns, embedded);
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
    return objectsIn<Row>(await this.bytes(new ResultFrame('json'), name, sql, params, options));
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
    const { name = 'command', operation = 'COMMAND', withinMs = COMMAND_MS } = options;
    const run = async (signal: AbortSignal) => {
      try {
        this.requireOpen();
        const values = params && { query_params: params };
        await this.client.command({ query: sql, ...values, abort_signal: signal });
      } catch (error) {
        throw storeError(error, this.kind);
      }
    };
    await this.watch.over({ name, operation }, () => withPatience(withinMs, undefined, run));
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
    const ask = async (reads: Reads) => {
      const read = (signal: AbortSignal) =>
        this.read({
          frame: new ResultFrame('json'),
          query: PING,
          settings: PING_SETTINGS,
          params: {},
          signal,
          reads,
        });
      const [row] = objectsIn<{ version: string }>(await withPatience(PING_MS, undefined, read));
      this.version = row?.version;
    };
    return this.watch.over({ name: 'ping', operation: 'SELECT' }, ask).then(
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
      token === undefined ? '' : ` SETTINGS insert_deduplication_token = '${hex(token)}', ${DEDUPLICATION}`;
    // In one step: a block has some MB, and joined before its head it would be in memory twice.
    const sql = [`INSERT INTO ${table}${columns}${settings} FORMAT ${format}`, ...rows].join('\n');
    await this.command(sql, undefined, { name: `${table}.insert`, operation: 'INSERT', withinMs: INSERT_MS });
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
      ...(options.indexesFirst ? [INDEXES_FIRST] : []),
    ].join(', ');
    const statement: Statement = { name, operation: 'SELECT', asker: options.signal ?? options.asker };
    return this.watch.over(statement, (reads) =>
      withPatience(options.unlimited ? UNLIMITED_MS : this.patienceMs, options.signal, (signal) =>
        this.turns.take(signal, () => this.read({ frame, query: sql, settings, params, signal, reads }), {
          first: options.first,
          group: options.teamId,
        }),
      ),
    );
  }

  private async read({ reads, frame, query, settings, ...question }: Read): Promise<Buffer> {
    const { signal } = question;
    try {
      this.requireOpen();
      const answer = await this.begin({
        ...question,
        query: `${query}\nSETTINGS ${settings}, ${frame.settings}`,
        format: frame.formatName,
      });
      Object.assign(reads, answer.reads);
      const bytes = answer.bytes();
      signal.addEventListener('abort', answer.drop, { once: true });
      if (signal.aborted) answer.drop();
      const result = await bytes;
      const rows = frame.unwrap(result);
      if (rows) return rows;
      this.embedded?.replaceSessions();
      throw unframedError(result);
    } catch (error) {
      throw storeError(error, this.kind);
    }
  }

  private requireOpen() {
    if (this.closed) throw new StoreUnavailable('the store is closed');
  }

  private begin(question: Question) {
    return this.ask(question).catch((error: unknown) => {
      // A kept connection can be closed just as it is used: then the server never saw the question.
      if (question.signal.aborted || !isClosedConnection(error)) throw error;
      return this.ask(question);
    });
  }
}

/** The rows of a result in JSON: an array of column names, then one of values for each row. */
function objectsIn<Row>(result: Buffer): Row[] {
  const [names, ...rows] = JSON.parse(`[${new JsonLines(result).elements(Infinity).toString()}]`) as [
    string[],
    ...unknown[][],
  ];
  return rows.map((values) => Object.fromEntries(names.map((name, index) => [name, values[index]])) as Row);
}

function hex(token: string): string {
  if (!/^[0-9a-f]+$/.test(token)) throw new TypeError('A deduplication token is lower-case hex');
  return token;
}
