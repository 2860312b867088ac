import { type ClickHouseClient, createClient } from '@clickhouse/client';
import type { Config } from '../config/config.js';
import { storeError } from './clickhouse.errors.js';
import { EmbeddedConnection } from './embedded.connection.js';
import type { Parameters } from './literals.js';

/** How a query differs from the usual. */
export interface QueryOptions {
  /** Threads the engine may use; 1 is fastest for what reads a page or a row. */
  threads?: number;
  /** Ends the wait, and on a server the query, when the caller is gone. */
  signal?: AbortSignal;
}

/** Set in each statement, because a setting sent beside it would stick to an embedded session. */
const OUTPUT = [
  "date_time_output_format = 'iso'",
  'output_format_json_quote_64bit_integers = 0',
  'output_format_json_escape_forward_slashes = 0',
  'output_format_json_validate_utf8 = 1',
];

/** Retries of one insert carry one token: every table behind the landing takes the block once. */
const DEDUPLICATION = 'deduplicate_blocks_in_dependent_materialized_views = 1';

/**
 * The only door to the store. Nothing above it knows whether the engine runs here or on a server: both are the
 * official client, the same SQL and the same tables.
 *
 * Every read is named (the name is its `log_comment`), bound, and limited in time, memory and threads.
 * Failures are `StoreUnavailable`, `QueryTimedOut`, or the client's own error.
 */
export class ClickHouse {
  private readonly limits: string;

  private constructor(
    private readonly client: ClickHouseClient,
    config: Config['clickhouse'],
    readonly kind: 'server' | 'embedded',
  ) {
    this.limits = [
      `max_execution_time = ${config.queryTimeoutSeconds}`,
      `max_memory_usage = ${config.queryMaxMemoryBytes}`,
      ...OUTPUT,
    ].join(', ');
  }

  /** A client for the configured place; with `database: ''` one that does not expect the database to be there. */
  static async open(config: Config, overrides: { database?: string } = {}): Promise<ClickHouse> {
    const { clickhouse } = config;
    const timeoutMs = clickhouse.queryTimeoutSeconds * 1000;
    if (clickhouse.url === undefined) {
      const connection = await EmbeddedConnection.open(
        config.dataDir,
        clickhouse.embeddedSessions,
        timeoutMs,
      );
      return new ClickHouse(createClient({ connection }), clickhouse, 'embedded');
    }
    const database = overrides.database ?? clickhouse.database;
    const client = createClient({
      url: clickhouse.url,
      username: clickhouse.user,
      password: clickhouse.password,
      ...(database === '' ? {} : { database }),
      application: 'request-analytics',
      max_open_connections: clickhouse.maxConnections,
      // Later than the engine's own limit, so that the engine's answer comes first.
      request_timeout: timeoutMs + 2_000,
      // An exception after the first rows must not look like a short answer.
      clickhouse_settings: { wait_end_of_query: 1 },
    });
    return new ClickHouse(client, clickhouse, 'server');
  }

  /** Rows as the engine writes them: one JSON object a line, in the order of the SELECT. */
  async text(
    name: string,
    sql: string,
    params: Parameters = {},
    options: QueryOptions = {},
  ): Promise<string> {
    const settings = `max_threads = ${options.threads ?? 1}, log_comment = '${name}', ${this.limits}`;
    try {
      const result = await this.client.query({
        query: `${sql}\nSETTINGS ${settings}`,
        query_params: params,
        format: 'JSONEachRow',
        use_multipart_params_auto: true,
        ...(options.signal ? { abort_signal: options.signal } : {}),
      });
      return await result.text();
    } catch (error) {
      throw storeError(error);
    }
  }

  /** The same rows as objects; `Row` is what the SELECT gives, integers up to 2^53. */
  async rows<Row>(name: string, sql: string, params?: Parameters, options?: QueryOptions): Promise<Row[]> {
    return lines(await this.text(name, sql, params, options)).map((line) => JSON.parse(line) as Row);
  }

  /** A statement without rows: DDL, or an INSERT with all it needs. Without values, nothing in it is a placeholder. */
  async command(sql: string, params?: Parameters): Promise<void> {
    try {
      await this.client.command({
        query: sql,
        ...(params && { query_params: params }),
      });
    } catch (error) {
      throw storeError(error);
    }
  }

  /**
   * Writes rows, each the JSON text of one object; resolves once the engine acknowledged them.
   *
   * @param token the block's identity: the same token again changes nothing, in any table behind it.
   */
  async insert(table: string, rows: readonly string[], token?: string): Promise<void> {
    if (rows.length === 0) return;
    const settings =
      token === undefined ? '' : ` SETTINGS insert_deduplication_token = '${hex(token)}', ${DEDUPLICATION}`;
    await this.command(`INSERT INTO ${table}${settings} FORMAT JSONEachRow\n${rows.join('\n')}`);
  }

  /** Whether the store answers; never throws. */
  async ping(): Promise<boolean> {
    const { success } = await this.client.ping({ select: true }).catch(() => ({ success: false }));
    return success;
  }

  /** Waits for running queries, then lets go. */
  async close(): Promise<void> {
    await this.client.close();
  }
}

/** The lines of a JSONEachRow answer. */
export function lines(text: string): string[] {
  return text === '' ? [] : text.trimEnd().split('\n');
}

function hex(token: string): string {
  if (!/^[0-9a-f]+$/.test(token)) throw new TypeError('A deduplication token is lower-case hex');
  return token;
}
