import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import type { JsonLines } from '../../store/client/json-lines.js';
import { and, inScope } from '../../queries/predicates.js';
import { readRequestTime } from '../../shared/hash-uuid.js';
import type { Window } from '../../shared/time/window.js';
import type { ScanStep } from './backward-scan.js';
import type { RequestLogKey } from './request-log-key.js';
import { OPEN_RECORD_SQL, RECORD_SQL, toCaptureSql } from './request-log.record.js';
import { type RequestLogFilter, columnPredicates, termIndexPredicates } from './request-log.filter.js';

/** Number of records of a window, and the time of the oldest in milliseconds since the epoch. */
export interface LogStats {
  records: number;
  oldest: number | null;
}

type PageQuery = [
  scope: AppScope,
  filter: RequestLogFilter,
  step: ScanStep,
  after: RequestLogKey | undefined,
];

/** A page of 1,000 usual records has 0.4 MB; with the longest URLs it would have 400 MB. */
export const MAX_LOG_PAGE_BYTES = 16 * 1024 * 1024;

const IN_WINDOW = `
FROM request_logs_v1
WHERE app_id = {app_id:UInt32}
  AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
  AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')`;

const PAGE = `SELECT ${RECORD_SQL}${IN_WINDOW}`;
/** Approximate sizes of the records, without the members before `record_json`. */
const SIZES = `SELECT toString(length(record_json))${IN_WINDOW}`;
const STATS = `
SELECT count() AS records,
  toUnixTimestamp64Milli((SELECT timestamp${IN_WINDOW}\nORDER BY timestamp\nLIMIT 1)) AS oldest${IN_WINDOW}`;

const ORDER = `
ORDER BY timestamp DESC, request_uuid DESC
LIMIT {limit:UInt32}`;

/** The bound on the timestamp is redundant, but lets the primary key skip newer rows: 8 ms instead of 638. */
const AFTER = `timestamp <= fromUnixTimestamp64Milli({after_timestamp:Int64}, 'UTC')
  AND (timestamp, request_uuid) < (fromUnixTimestamp64Milli({after_timestamp:Int64}, 'UTC'), {after_uuid:UUID})`;

const CONSUMER_ID = `',"consumer_id":', if(consumer_id = 0, 'null', toString(consumer_id)), `;

const OF_REQUEST = `app_id = {app_id:UInt32} AND request_uuid = {request_uuid:UUID}`;
const RETAINED = `${OF_REQUEST}
      AND timestamp >= fromUnixTimestamp64Milli({retained_from:Int64}, 'UTC')`;
const AT = `fromUnixTimestamp64Milli({at:Int64}, 'UTC')`;

/**
 * The statement of one request: a subquery finds its time and its captured data, and the time finds the row
 * in the logs. The captured members follow the record's.
 *
 * @param found the subquery. It aggregates, because a scalar subquery without rows has no value
 */
const buildFind =
  (found: string, time = 'found.1', captured = 'found.2') =>
  (added: string) => `
WITH (
  ${found}
) AS found
SELECT concat(${OPEN_RECORD_SQL}, ${added}',',
  substring(${toCaptureSql(captured)}, 2))
FROM request_logs_v1
WHERE ${OF_REQUEST}
  AND timestamp = ${time}`;
const IN_DETAILS = buildFind(
  `SELECT argMax((timestamp, captured_json), timestamp) FROM request_details_v1 WHERE ${RETAINED}`,
);
/** UUIDs of the service's own have the time, so only the details of one partition are read. */
const AT_TIME = buildFind(
  `SELECT max(captured_json) FROM request_details_v1 WHERE ${OF_REQUEST} AND timestamp = ${AT}`,
  AT,
  'found',
);
/** A request that came in whole is in the ledger, and in the details only if something was captured. */
const IN_BOTH = buildFind(`SELECT argMax((timestamp, captured_json), (timestamp, captured_json != ''))
  FROM (
    SELECT timestamp, captured_json FROM request_details_v1 WHERE ${RETAINED}
    UNION ALL
    SELECT timestamp, '' FROM import_ledger_v1 WHERE ${RETAINED}
  )`);

@Injectable()
export class RequestLogsRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * The records of one step, each as the JSON text of one object.
   *
   * @throws ResultTooLarge if they have more than `MAX_PAGE_BYTES`
   */
  page(...query: PageQuery): Promise<JsonLines> {
    return this.query('request_logs.page', PAGE, ...query);
  }

  /** The sizes in bytes of the records that `page` would return. */
  async sizes(...query: PageQuery): Promise<number[]> {
    const lines = await this.query('request_logs.sizes', SIZES, ...query);
    return Array.from({ length: lines.length }, (_, index) => Number(lines.at(index)));
  }

  /**
   * One request of the app, not older than `retainedFrom` (milliseconds since the epoch), or null: the record
   * and its captured data, as the JSON text of one object.
   *
   * @param withConsumerId whether to add the consumer's ID after the record's other members
   */
  async find(
    scope: AppScope,
    request_uuid: string,
    retainedFrom: number,
    withConsumerId = false,
  ): Promise<Buffer | null> {
    const { sql, params } = and(...inScope(scope));
    const at = readRequestTime(request_uuid);
    const isOwn = at !== undefined && at >= retainedFrom;
    const values = { ...params, request_uuid, retained_from: retainedFrom };
    // Reading both tables takes a fifth more time, and few requests need it.
    for (const build of [isOwn ? AT_TIME : IN_DETAILS, IN_BOTH]) {
      const rows = await this.store.jsonLines(
        scope,
        'request_logs.find',
        `${build(withConsumerId ? CONSUMER_ID : '')}${sql}\nLIMIT 1`,
        { ...values, ...(build === AT_TIME && { at }) },
      );
      if (rows.length > 0) return rows.joinFirst(1);
    }
    return null;
  }

  /** Statistics of a window, including excluded endpoints: cheap, because it only uses the primary key. */
  async countAndOldest(scope: AppScope, { start, end }: Window): Promise<LogStats> {
    const [stats] = await this.store.rows<LogStats>(scope, 'request_logs.stats', STATS, { start, end });
    return stats ?? { records: 0, oldest: null };
  }

  private query(
    name: string,
    select: string,
    scope: AppScope,
    filter: RequestLogFilter,
    { window: { start, end }, limit, useTermIndex }: ScanStep,
    after: RequestLogKey | undefined,
  ): Promise<JsonLines> {
    const { sql, params } = and(
      after && {
        sql: AFTER,
        params: { after_timestamp: after.timestamp, after_uuid: after.request_uuid },
      },
      ...(useTermIndex ? termIndexPredicates(scope, filter) : columnPredicates(filter)),
      ...inScope(scope),
    );
    const values = { ...params, start, end, limit };
    return this.store.jsonLines(scope, name, `${select}${sql}${ORDER}`, values, {
      prefilterIndexes: useTermIndex,
      maxResultBytes: MAX_LOG_PAGE_BYTES,
    });
  }
}
