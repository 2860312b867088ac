const GRAINS = ['minute', '15m', '15m_by_consumer', 'hour', 'day'] as const;

/** The tables that keep how many requests there were of each status, and how times and sizes are spread. */
export const COUNTS_TABLES = GRAINS.map((grain) => `counts_per_${grain}_v1`);

/** What a table says, however its rows are merged, as the values of one app. */
export function selectSums(table: string): string {
  return `SELECT * EXCEPT (app_id, n, bytes_received, bytes_sent),
      sum(t.n) AS n, sum(t.bytes_received) AS bytes_received, sum(t.bytes_sent) AS bytes_sent
    FROM ${table} AS t WHERE app_id = {app_id:UInt32} GROUP BY ALL ORDER BY ALL`;
}

/** The requests of each table, and those of its bins: a request with a time and two sizes is in three. */
export const SELECT_TOTALS = `SELECT ${COUNTS_TABLES.map(
  (table) => `[${selectTotal(table)}, ${selectTotal(table, `measure != 'requests'`)}] AS ${table}`,
).join(', ')}`;

/**
 * The requests of a table, or those of its bins under a condition. Requests without consumer, which the table
 * by consumer leaves to the quarter-hours, are counted with them.
 */
export function selectTotal(table: string, condition = `measure = 'requests'`): string {
  const total = `(SELECT sum(n) FROM ${table} WHERE ${condition})`;
  const quarters = table.replace('_by_consumer', '');
  return quarters === table
    ? total
    : `${total} + (SELECT sum(n) FROM ${quarters} WHERE without_consumer AND ${condition})`;
}
