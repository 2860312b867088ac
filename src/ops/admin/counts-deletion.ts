import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { sumBytes } from '../../queries/predicates.js';
import { type Parameters, renderParameters } from '../../store/client/query-parameters.js';
import type { WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { BatchLog } from '../../write/batch-log.js';
import { WriteGate } from '../../write/write-gate.js';
import { DAY_SECONDS, HOUR_MS } from '../../shared/time/units.js';
import { AdminError } from './admin.error.js';
import { type StoredTable, buildDelete, findTables } from './stored-tables.js';

/** The deleted window of an app: from `since` on and before `until`, in milliseconds since the Unix epoch. */
interface Window {
  appId: number;
  since: number;
  until: number;
  /** Whether logged requests, spans, log records and texts of errors are deleted as well. */
  withLogs: boolean;
}

/** The deleted rows, or the rows that would be deleted. */
interface DeletedCounts {
  app_id: number;
  since: string;
  until: string;
  requests: number;
  bytes_received: number;
  bytes_sent: number;
  /** Rows by table. */
  tables: { table: string; rows: number }[];
}

/** Mutations rewrite parts, which can have many gigabytes. */
const TIMEOUT_MS = 6 * HOUR_MS;

const IN_WINDOW = (time: string) =>
  `app_id = {app_id:UInt32} AND ${time} >= {since:UInt32} AND ${time} < {until:UInt32}`;
/** Days that overlap the window. */
const OF_DAYS = `app_id = {app_id:UInt32} AND bucket >= {first_day:UInt32} AND bucket < {end_of_days:UInt32}`;
/** Hours of these days outside of the window. */
const OTHER_HOURS = `${OF_DAYS} AND (bucket < {since:UInt32} OR bucket >= {until:UInt32})`;
const NANOSECONDS = (time: string) => IN_WINDOW(`intDiv(${time}, 1000000000)`);
/**
 * Tables that the landing tables feed in addition to the counts. The times of spans and log records are in
 * nanoseconds.
 */
const LOGS: Readonly<Record<string, string>> = {
  request_details_v1: IN_WINDOW('timestamp'),
  request_logs_v1: IN_WINDOW('timestamp'),
  errors_v1: IN_WINDOW('timestamp'),
  spans_v1: NANOSECONDS('start_time_ns'),
  application_logs_v1: NANOSECONDS('timestamp_ns'),
};
/** What a collector would add later, or take back of what was counted. */
const PENDING = ['pending_counts_v1', 'unassigned_requests_v1'];
const COVERAGE = 'consumer_coverage_v1';
/** Its days that lie in the window. */
const WHOLE_DAYS = `app_id = {app_id:UInt32} AND toUInt32(day) * ${DAY_SECONDS} >= {since:UInt32}
  AND (toUInt32(day) + 1) * ${DAY_SECONDS} <= {until:UInt32}`;

const REQUESTS = `
SELECT sum(n) AS requests, ${sumBytes('bytes_received')} AS bytes_received, ${sumBytes('bytes_sent')} AS bytes_sent
FROM counts_per_hour_v1 WHERE measure = 'requests' AND ${IN_WINDOW('bucket')}`;
const COUNT = (table: string, condition: string) => `SELECT count() AS rows FROM ${table} WHERE ${condition}`;
/**
 * Without deduplication, because the same days may have been rebuilt before, and deleted since. The rows are
 * inserted through the table, whichever shard has the app.
 */
const REBUILD_DAYS = `
INSERT INTO counts_per_day_v1 (bucket, app_id, measure, app_env_id, endpoint_id, status_code, k, n, bytes_received, bytes_sent)
SETTINGS insert_deduplicate = 0, parallel_distributed_insert_select = 0
SELECT toStartOfDay(h.bucket), app_id, measure, app_env_id, endpoint_id, status_code, k,
  sum(h.n), sum(h.bytes_received), sum(h.bytes_sent)
FROM counts_per_hour_v1 AS h
WHERE ${OTHER_HOURS}
GROUP BY ALL`;

/**
 * Deletes the counts of an app in a window of whole hours from every table of counts, and on request what was
 * logged.
 *
 *     pause writes ──▶ apply batches ──▶ begin deletions ──▶ rebuild days ──▶ resume writes ──▶ wait for the
 *     deletions
 *
 * Tables of days have no hours: their days are deleted whole and summed up again from the other hours.
 * Deletions only concern rows that were there when they began, so writes wait for a moment, not until parts
 * are rewritten. Only what collectors would read is gone before they write again. After an interruption the
 * same command completes it, because hours outside of the window never change.
 */
export class CountsDeletion {
  private readonly params: Parameters;

  /** @throws AdminError if the window does not consist of whole hours */
  constructor(
    private readonly store: ClickHouse,
    private readonly window: Window,
  ) {
    const { appId, since, until } = window;
    for (const [option, time] of Object.entries({ since, until }))
      if (time % HOUR_MS !== 0) throw new AdminError(`${option} must be a whole hour in UTC`);
    if (since >= until) throw new AdminError('since must be before until');
    const [from, to] = [since / 1000, until / 1000];
    this.params = {
      app_id: appId,
      since: from,
      until: to,
      first_day: Math.floor(from / DAY_SECONDS) * DAY_SECONDS,
      end_of_days: Math.ceil(to / DAY_SECONDS) * DAY_SECONDS,
    };
  }

  /** Describes what `run` would delete. */
  async describe(): Promise<DeletedCounts> {
    const { appId, since, until } = this.window;
    const [sums] =
      await this.readAll<Pick<DeletedCounts, 'requests' | 'bytes_received' | 'bytes_sent'>>(REQUESTS);
    const tables: DeletedCounts['tables'] = [];
    for (const [{ name }, condition] of await this.listDeletions()) {
      const [row] = await this.readAll<{ rows: number }>(COUNT(name, condition));
      tables.push({ table: name, rows: row?.rows ?? 0 });
    }
    return {
      app_id: appId,
      since: new Date(since).toISOString(),
      until: new Date(until).toISOString(),
      requests: 0,
      bytes_received: 0,
      bytes_sent: 0,
      ...sums,
      tables,
    };
  }

  /** @param coordinator of all writers of the store */
  async run(coordinator: WriterCoordinator): Promise<DeletedCounts> {
    const deletions = await this.listDeletions();
    const deleted = await new WriteGate(coordinator).pause(async () => {
      // Does not use the gate, which is closed. Batches that were applied later would be counted again.
      await new BatchLog(this.store).recover(0);
      const found = await this.describe();
      for (const [table, condition] of deletions)
        await this.change(
          `${buildDelete(table, condition)} SETTINGS mutations_sync = ${PENDING.includes(table.name) ? 2 : 0}`,
        );
      await this.change(REBUILD_DAYS);
      return found;
    });
    // A deletion without rows ends after the deletions before it.
    for (const [table] of deletions)
      await this.change(`${buildDelete(table, 'app_id = 0')} SETTINGS mutations_sync = 2`);
    return deleted;
  }

  /** Each table with the condition for its deleted rows. */
  private async listDeletions(): Promise<[StoredTable, string][]> {
    const tables = await findTables(this.store, 'app_id');
    const counts = await findTables(this.store, 'bucket');
    return tables.flatMap((table): [StoredTable, string][] => {
      const { name } = table;
      if (counts.some((count) => count.name === name))
        return [[table, name.includes('_per_day_') ? OF_DAYS : IN_WINDOW('bucket')]];
      if (PENDING.includes(name)) return [[table, IN_WINDOW('timestamp')]];
      if (name === COVERAGE) return [[table, WHOLE_DAYS]];
      const condition = this.window.withLogs ? LOGS[name] : undefined;
      return condition === undefined ? [] : [[table, condition]];
    });
  }

  private readAll<Row>(sql: string): Promise<Row[]> {
    return this.store.rows<Row>('counts.of_window', sql, this.params, { unlimited: true });
  }

  /** A mutation is kept as text, so its values are literals. */
  private change(sql: string): Promise<void> {
    const statement = renderParameters(sql, this.params);
    return this.store.command(statement, undefined, { name: 'counts.delete', timeoutMs: TIMEOUT_MS });
  }
}
