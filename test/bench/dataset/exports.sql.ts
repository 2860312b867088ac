import { EXPORT_APP, HOT_APP, HOT_TENTHS } from './shape.js';

const NAMES = ['app_envs_v1', 'endpoints_v1', 'consumers_v1'];

/**
 * Request logs of an app of their own: at least `exportRows`, copied from those of the hot app. They are only
 * in the tables that an export reads: their counts and bins would take ten times as long.
 *
 * @param rows of the data set
 */
export function insertExportRows(exportRows: number, rows: number): string[] {
  const copies = Math.ceil(exportRows / ((rows * HOT_TENTHS) / 10));
  const buildCopy = (table: string, replaced: string) =>
    `INSERT INTO ${table} SELECT * REPLACE (${replaced}) FROM (SELECT * FROM ${table} WHERE app_id = ${HOT_APP})`;
  return [
    ...NAMES.map((table) => buildCopy(table, `toUInt32(${EXPORT_APP}) AS app_id`)),
    ...Array.from({ length: copies }, (_, copy) =>
      buildCopy(
        'request_logs_v1',
        `toUInt32(${EXPORT_APP}) AS app_id, timestamp - toIntervalMillisecond(${copy}) AS timestamp,
  reinterpretAsUUID(sipHash128(request_uuid, ${copy})) AS request_uuid`,
      ),
    ),
  ];
}
