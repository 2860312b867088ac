import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  type Logger,
  createClient,
} from '@clickhouse/client';
import type { Config } from '../config/config.js';

/** The longest that a connection may be silent; each statement has a shorter limit of its own. */
const LONGEST_SILENCE_MS = 90_000_000;

/**
 * Sent beside every read. Whoever may only read has queries that end with their caller: the server looks at the
 * connection of those alone. And an error is told as one, not as a row.
 */
export const READ_SETTINGS: ClickHouseSettings = {
  readonly: '2',
  cancel_http_readonly_queries_on_client_close: 1,
  http_write_exception_in_output_format: 0,
};

/** An exception after the first rows must not look like a short answer, nor a row in a buffer like one written. */
const WHOLE: ClickHouseSettings = { wait_end_of_query: 1, async_insert: 0 };

/**
 * A single server takes no notice of these. Written is what a shard has, not what waits on a node to be sent to one; and
 * subqueries stay on the shard of their query, which has what they ask for (see `toClusterDdl`).
 */
const ON_A_CLUSTER: ClickHouseSettings = {
  insert_distributed_sync: 1,
  distributed_product_mode: 'local',
};

/** What goes wrong is reported by the caller; the client would write statements and values to the console. */
class SilentLogger implements Logger {
  trace = () => undefined;
  debug = () => undefined;
  info = () => undefined;
  warn = () => undefined;
  error = () => undefined;
}

/** A client of the configured server; nothing is connected yet. Without a database: the user's own. */
export function createServerClient({ clickhouse }: Config, database: string): ClickHouseClient {
  return createClient({
    url: clickhouse.url,
    username: clickhouse.user,
    password: clickhouse.password,
    ...(database === '' ? {} : { database }),
    application: 'request-analytics',
    // The level does not silence its warnings of what the URL overrides.
    log: { level: ClickHouseLogLevel.OFF, LoggerClass: SilentLogger },
    max_open_connections: clickhouse.maxConnections,
    request_timeout: LONGEST_SILENCE_MS,
    // Timers come late in a busy process, and a connection past its time may be closed already.
    keep_alive: { eagerly_destroy_stale_sockets: true },
    clickhouse_settings: { ...WHOLE, ...ON_A_CLUSTER },
  });
}
