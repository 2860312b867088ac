import type { Child } from '../rpc.js';
import { EXPORT_APP } from '../dataset/shape.js';
import type { ServerHandlers } from '../server/server.js';

/** A table of the other databases: its columns, its rows as the engine exports them, and its indexes. */
export interface PeerTable {
  name: string;
  /** Types that PostgreSQL and DuckDB both know. */
  columns: string;
  /** The engine's SELECT; its order is the order of the rows in the other tables. */
  select: string;
  /** PostgreSQL's, made after loading. */
  indexes: string[];
  /** DuckDB's: it keeps minima and maxima of row groups by itself, so only what finds single rows. */
  duckdbIndexes?: string[];
}

/** Leaves out the copies that only exports read: their names have the IDs of the originals. */
const IS_NO_COPY = `app_id != ${EXPORT_APP}`;

const number = (name: string) =>
  `if(simpleJSONExtractRaw(record_json, '${name}') = 'null', NULL, simpleJSONExtractUInt(record_json, '${name}'))`;

const rollup = (name: string, source: string): PeerTable => ({
  name,
  columns:
    'app_id int, bucket timestamp, app_env_id int, endpoint_id int, status_code smallint, requests bigint, bytes_received bigint, bytes_sent bigint',
  select: `SELECT app_id, bucket, app_env_id, endpoint_id, status_code, sum(n), sum(bytes_received), sum(bytes_sent)
    FROM ${source} WHERE measure = 'requests' GROUP BY ALL ORDER BY ALL`,
  indexes: [`UNIQUE INDEX ON ${name} (app_id, bucket, app_env_id, endpoint_id, status_code)`],
});

/** Bins of response times; those of sizes are in no question. */
const bins = (grain: string, consumer = ''): PeerTable => {
  const [name, keys] = [
    `bins_per_${grain}`,
    `app_id, ${consumer}bucket, app_env_id, endpoint_id, status_code`,
  ];
  return {
    name,
    columns: `app_id int, ${consumer && 'consumer_id int, '}bucket timestamp, app_env_id int, endpoint_id int,
      status_code smallint, k smallint, n bigint`,
    select: `SELECT ${keys}, k, n FROM counts_per_${grain}_v1 FINAL WHERE measure = 'time' ORDER BY ${keys}, k`,
    indexes: [`INDEX ON ${name} (app_id, bucket)`],
  };
};

/**
 * What a good engineer would make of the same data: names in tables of their own, an index for every filter
 * that finds few rows, the same rollups as ours.
 */
export const PEER_TABLES: readonly PeerTable[] = [
  {
    name: 'app_envs',
    columns: 'id int, app_id int, name text',
    select: `SELECT id, app_id, name FROM app_envs_v1 FINAL WHERE ${IS_NO_COPY} ORDER BY id`,
    indexes: ['UNIQUE INDEX ON app_envs (id)'],
  },
  {
    name: 'endpoints',
    columns: 'id int, app_id int, method text, path text',
    select: `SELECT id, app_id, method, path FROM endpoints_v1 FINAL WHERE ${IS_NO_COPY} ORDER BY id`,
    indexes: ['UNIQUE INDEX ON endpoints (id)', 'INDEX ON endpoints (app_id)'],
  },
  {
    name: 'consumers',
    columns:
      'id int, app_id int, identifier text, name text, group_id int, created_at timestamp, last_request_at timestamp',
    select: `SELECT c.id, c.app_id, c.identifier, c.name, c.group_id, c.created_at, a.at
      FROM consumers_v1 AS c FINAL
      LEFT JOIN (SELECT consumer_id, max(last_request_at) AS at FROM consumer_activity_v1 GROUP BY consumer_id) AS a
      ON a.consumer_id = c.id WHERE c.${IS_NO_COPY} ORDER BY c.id`,
    indexes: ['UNIQUE INDEX ON consumers (id)', 'INDEX ON consumers (app_id, id)'],
  },
  {
    name: 'request_logs',
    columns: `app_id int, ts timestamp, request_uuid uuid, app_env_id int, endpoint_id int, consumer_id int, url text,
      status_code smallint, request_size_bytes bigint, response_size_bytes bigint, response_time_ms int, client_ip text,
      country text`,
    select: `SELECT app_id, timestamp, request_uuid, app_env_id, nullIf(endpoint_id, 0), nullIf(consumer_id, 0),
      simpleJSONExtractString(record_json, 'url'), status_code,
      ${['request_size_bytes', 'response_size_bytes', 'response_time_ms'].map(number).join()},
      simpleJSONExtractString(record_json, 'client_ip'), simpleJSONExtractString(record_json, 'client_country_iso_code')
      FROM request_logs_v1 WHERE ${IS_NO_COPY} ORDER BY app_id, timestamp, request_uuid`,
    indexes: [
      'UNIQUE INDEX ON request_logs (app_id, ts DESC, request_uuid DESC)',
      'INDEX ON request_logs (app_id, consumer_id, ts DESC, request_uuid DESC)',
      'INDEX ON request_logs (app_id, endpoint_id, ts DESC, request_uuid DESC)',
      'INDEX ON request_logs (app_id, ts DESC, request_uuid DESC) WHERE status_code >= 500',
      'INDEX ON request_logs (request_uuid)',
    ],
    duckdbIndexes: ['INDEX request_logs_uuid ON request_logs (request_uuid)'],
  },
  {
    name: 'request_captures',
    columns: 'request_uuid uuid, capture text',
    select: `SELECT request_uuid, captured_json FROM request_details_v1 WHERE captured_json != ''`,
    indexes: ['UNIQUE INDEX ON request_captures (request_uuid)'],
    duckdbIndexes: ['INDEX request_captures_uuid ON request_captures (request_uuid)'],
  },
  rollup('counts_per_15m', 'counts_per_15m_v1'),
  rollup('counts_per_hour', 'counts_per_hour_v1'),
  rollup('counts_per_day', 'counts_per_day_v1'),
  bins('15m'),
  bins('hour'),
  bins('day'),
  bins('minute'),
  bins('15m_by_consumer', 'consumer_id, '),
  {
    name: 'counts_per_minute',
    columns:
      'app_id int, bucket timestamp, app_env_id int, endpoint_id int, status_code smallint, requests bigint',
    select: `SELECT app_id, bucket, app_env_id, endpoint_id, status_code, sum(n)
      FROM counts_per_minute_v1 WHERE measure = 'requests' GROUP BY ALL ORDER BY ALL`,
    indexes: ['INDEX ON counts_per_minute (app_id, bucket)'],
  },
  {
    name: 'counts_per_15m_by_consumer',
    columns:
      'app_id int, consumer_id int, bucket timestamp, app_env_id int, endpoint_id int, status_code smallint, requests bigint, bytes_received bigint, bytes_sent bigint',
    // Requests without a consumer are a group too.
    select: `SELECT * FROM (
        SELECT app_id, toNullable(consumer_id), bucket, app_env_id, endpoint_id, status_code, n, bytes_received, bytes_sent
        FROM counts_per_15m_by_consumer_v1 FINAL WHERE measure = 'requests'
        UNION ALL SELECT app_id, NULL, bucket, app_env_id, endpoint_id, status_code, n, bytes_received, bytes_sent
        FROM counts_per_15m_v1 FINAL WHERE measure = 'requests' AND without_consumer
      ) ORDER BY ALL`,
    indexes: [
      'UNIQUE INDEX ON counts_per_15m_by_consumer (app_id, consumer_id, bucket, app_env_id, endpoint_id, status_code)',
    ],
  },
];

/** Writes one table's rows as CSV, absent values as nothing. */
export async function exportTable(
  server: Child<ServerHandlers>,
  { select }: PeerTable,
  file: string,
): Promise<void> {
  await server.call(
    'sql',
    `INSERT INTO FUNCTION file('${file}', 'CSV') ${select}
     SETTINGS format_csv_null_representation = '', engine_file_truncate_on_insert = 1`,
  );
}
