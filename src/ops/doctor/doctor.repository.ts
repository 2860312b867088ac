import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { renderParameters } from '../../store/client/query-parameters.js';

/** Younger batches and spans are still being processed. */
const LATE_BATCH_SECONDS = 60;
const LATE_SPANS_SECONDS = 600;

const CLOCK = 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms, version() AS version';
/** The engine spells a TTL differently than the migrations, so here it rewrites both in the same way. */
const TTLS = `
SELECT name AS table, formatQuerySingleLine(concat('SELECT ', extract(engine_full, ' TTL (.*?)(?: SETTINGS |$)'))) AS ttl
FROM system.tables WHERE database = currentDatabase() AND match(engine_full, ' TTL ')`;
const FORMAT_TTLS = `SELECT arrayMap(ttl -> formatQuerySingleLine(concat('SELECT ', ttl)), {ttls:Array(String)}) AS ttls`;
const DISKS = `
SELECT name, path, free_space AS free, total_space AS total, is_read_only, is_broken FROM system.disks
WHERE NOT is_remote ORDER BY name`;
const PARTS = `
SELECT table, count() AS parts FROM system.parts
WHERE active AND database = currentDatabase() GROUP BY table, partition_id HAVING parts > {limit:UInt32}
ORDER BY parts DESC LIMIT 10`;
const MUTATIONS = `
SELECT table, mutation_id AS id, substring(latest_fail_reason, 1, 200) AS reason FROM system.mutations
WHERE database = currentDatabase() AND NOT is_done AND (latest_fail_reason != '' OR create_time < now() - INTERVAL 1 HOUR)
ORDER BY create_time LIMIT 10`;
const MERGES = `
SELECT table, result_part_name AS part, toUInt32(elapsed) AS seconds FROM system.merges
WHERE database = currentDatabase() AND NOT is_mutation AND elapsed > 3600 ORDER BY elapsed DESC LIMIT 10`;
const LATE_BATCHES = `
SELECT count() AS late, toString(min(created)) AS since FROM (
  SELECT any(created_at) AS created FROM ingest_batches_v1
  WHERE piece = 0 AND created_at < now() - ${LATE_BATCH_SECONDS}
  GROUP BY batch_id HAVING max(applied) = 0
)`;
const FAILED_ALERTS = `
SELECT team_id, toString(m.channel) AS channel, any(m.error) AS error, toUInt32(count()) AS messages FROM alert_messages_v1 AS m FINAL
WHERE m.state = 'failed' OR (m.state = 'waiting' AND m.created_at < now() - INTERVAL 1 HOUR)
GROUP BY team_id, channel ORDER BY team_id, channel`;
const LATE_SPANS = `
SELECT uniqExact(p.app_id, p.instance_uuid) AS late, toString(min(p.received_at)) AS since FROM pending_counts_v1 AS p
WHERE p.requests > 0 AND p.received_at < now() - {delay:UInt32} - ${LATE_SPANS_SECONDS}
  AND (p.app_id, p.instance_uuid) NOT IN (SELECT app_id, instance_uuid FROM counted_instances_v1)`;

/**
 * Days that all tables keep. Today is not among them: a block reaches one table a moment later than another,
 * so their totals differ while requests arrive.
 */
const WHOLE_DAYS = `bucket >= toStartOfDay(now('UTC')) - INTERVAL 30 DAY AND bucket < toStartOfDay(now('UTC'))`;
/**
 * The rollups, each with the condition for its quarter-hours; rows without a consumer are only in the
 * quarter-hours.
 */
const ROLLUPS = { '15m_by_consumer': 'NOT without_consumer', minute: '1', hour: '1', day: '1' } as const;

export interface Disk {
  name: string;
  path: string;
  free: number;
  total: number;
  is_read_only: number;
  is_broken: number;
}

/** A rollup whose total differs from that of its source. */
export interface RollupDifference {
  table: string;
  source: string;
  difference: number;
}

/** The reads of `doctor`, which never change the store. */
export class DoctorRepository {
  constructor(readonly store: ClickHouse) {}

  /** Messages of alerts that were given up, or are not delivered for an hour. */
  findFailedAlerts(): Promise<{ team_id: number; channel: string; error: string; messages: number }[]> {
    return this.store.rows('doctor.failed_alerts', FAILED_ALERTS);
  }

  async readClock(): Promise<{ ms: number; version: string }> {
    const [row] = await this.store.rows<{ ms: number; version: string }>('doctor.clock', CLOCK);
    return row ?? { ms: 0, version: '' };
  }

  /** Whether the account has a privilege. Privilege and object come from fixed lists. */
  async hasGrant(privilege: string, on: 'database' | 'server', database: string): Promise<boolean> {
    const object = on === 'server' ? '*.*' : renderParameters('{database:Identifier}.*', { database });
    const { result } = await this.store.relay(`CHECK GRANT ${privilege} ON ${object}`);
    return result.toString().trim() === '1';
  }

  async readTtls(): Promise<Map<string, string>> {
    const rows = await this.store.rows<{ table: string; ttl: string }>('doctor.ttls', TTLS);
    return new Map(rows.map(({ table, ttl }) => [table, ttl]));
  }

  async formatTtls(ttls: readonly string[]): Promise<string[]> {
    const [row] = await this.store.rows<{ ttls: string[] }>('doctor.format', FORMAT_TTLS, { ttls });
    return row?.ttls ?? [];
  }

  readDisks(): Promise<Disk[]> {
    return this.store.rows<Disk>('doctor.disks', DISKS);
  }

  /** Tables with more than `limit` parts in one partition. */
  findManyParts(limit: number): Promise<{ table: string; parts: number }[]> {
    return this.store.rows('doctor.parts', PARTS, { limit });
  }

  findStuckMutations(): Promise<{ table: string; id: string; reason: string }[]> {
    return this.store.rows('doctor.mutations', MUTATIONS);
  }

  findLongMerges(): Promise<{ table: string; part: string; seconds: number }[]> {
    return this.store.rows('doctor.merges', MERGES);
  }

  async countLateBatches(): Promise<{ late: number; since: string }> {
    const [row] = await this.store.rows<{ late: number; since: string }>('doctor.batches', LATE_BATCHES);
    return row ?? { late: 0, since: '' };
  }

  /** @param delay seconds after which a collector counts spans */
  async countLateSpans(delay: number): Promise<{ late: number; since: string }> {
    const [row] = await this.store.rows<{ late: number; since: string }>('doctor.spans', LATE_SPANS, {
      delay,
    });
    return row ?? { late: 0, since: '' };
  }

  /** Rollups whose requests in the 30 days before today (UTC) differ from those of their source. */
  async compareRollups(): Promise<RollupDifference[]> {
    const source = 'counts_per_15m_v1';
    const total = (table: string, which: string) =>
      `(SELECT toInt64(sum(n)) FROM ${table} WHERE measure = 'requests' AND ${WHOLE_DAYS} AND ${which})`;
    const columns = Object.entries(ROLLUPS).map(([grain, which]) => {
      const table = `counts_per_${grain}_v1`;
      return `${total(table, '1')} - ${total(source, which)} AS ${table}`;
    });
    const [row = {}] = await this.store.rows<Record<string, number>>(
      'doctor.rollups',
      `SELECT ${columns.join(', ')}`,
    );
    return Object.entries(row).flatMap(([table, difference]) =>
      difference === 0 ? [] : { table, source, difference },
    );
  }
}
