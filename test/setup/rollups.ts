const GRAINS = ['minute', '15m', '15m_by_consumer', 'hour', 'day'] as const;

/** The tables that keep how many requests there were, of which status, by their grain. */
export const COUNTS_TABLES = GRAINS.map((grain) => `counts_per_${grain}_v1`);
/** The tables that keep how response times and sizes are spread. */
export const BINS_TABLES = GRAINS.map((grain) => `bins_per_${grain}_v1`);

/** What a table of counts or of bins says, however its rows are merged, as the values of one app. */
export function selectSums(table: string): string {
  const sums = table.startsWith('bins_') ? ['n'] : ['requests', 'bytes_received', 'bytes_sent'];
  const summed = sums.map((column) => `sum(t.${column}) AS ${column}`).join(', ');
  return `SELECT * EXCEPT (app_id, ${sums.join(', ')}), ${summed} FROM ${table} AS t
    WHERE app_id = {app_id:UInt32} GROUP BY ALL ORDER BY ALL`;
}

/** For each table, how many requests it has in all: a request with a time and two sizes is in three bins. */
export function selectTotals(tables: readonly string[]): string {
  return `SELECT ${tables.map((table) => `${selectTotal(table)} AS ${table}`).join(', ')}`;
}

/**
 * How many requests a table has, under a condition. Those without consumer, which the tables by consumer
 * leave to the quarter-hours, are counted with them.
 */
export function selectTotal(table: string, condition = '1'): string {
  const value = table.startsWith('bins_') ? 'n' : 'requests';
  const total = `(SELECT sum(${value}) FROM ${table} WHERE ${condition})`;
  const quarters = table.replace('_by_consumer', '');
  return quarters === table
    ? total
    : `${total} + (SELECT sum(${value}) FROM ${quarters} WHERE without_consumer AND ${condition})`;
}
