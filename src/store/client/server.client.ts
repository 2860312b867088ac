import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  type Logger,
  createClient,
} from '@clickhouse/client';
import type { Config } from '../../config/config.js';
import { MAX_STATEMENT_BYTES } from './query-parameters.js';

/** The longest time without data on a connection; each statement has a shorter limit. */
const LONGEST_SILENCE_MS = 90_000_000;

/**
 * Sent with every read. The server cancels only `readonly` queries when the client disconnects. Errors are
 * not written as rows. A shard of a cluster gets the values as literals.
 */
export const READ_SETTINGS: ClickHouseSettings = {
  max_query_size: String(MAX_STATEMENT_BYTES),
  readonly: '2',
  cancel_http_readonly_queries_on_client_close: 1,
  http_write_exception_in_output_format: 0,
};

/**
 * Without these, an exception after the first rows looks like a short result, and a buffered row looks
 * written.
 */
const COMPLETE_RESULTS: ClickHouseSettings = { wait_end_of_query: 1, async_insert: 0 };

/**
 * A single server ignores these. Inserts are acknowledged once the shard has them, not while they wait on a
 * node to be sent; subqueries stay on the shard of their query, which has the rows they need
 * (docs/decisions/0012).
 */
const ON_A_CLUSTER: ClickHouseSettings = {
  insert_distributed_sync: 1,
  distributed_product_mode: 'local',
};

/** Callers report errors; the client would write statements and values to the console. */
class SilentLogger implements Logger {
  trace = () => undefined;
  debug = () => undefined;
  info = () => undefined;
  warn = () => undefined;
  error = () => undefined;
}

/** A client of the configured server, not yet connected. Without a database it uses the user's default. */
export function createServerClient({ clickhouse }: Config, database: string): ClickHouseClient {
  return createClient({
    url: clickhouse.url,
    username: clickhouse.user,
    password: clickhouse.password,
    ...(database === '' ? {} : { database }),
    application: 'request-analytics',
    // The log level does not silence its warnings about settings in the URL.
    log: { level: ClickHouseLogLevel.OFF, LoggerClass: SilentLogger },
    max_open_connections: clickhouse.maxConnections,
    request_timeout: LONGEST_SILENCE_MS,
    // Timers fire late in a busy process, so an expired connection may already be closed.
    keep_alive: { eagerly_destroy_stale_sockets: true },
    clickhouse_settings: { ...COMPLETE_RESULTS, ...ON_A_CLUSTER },
  });
}
