import type { MetricsRow } from './api.js';
import { LEAST_FOR_PERCENTILES } from './points.js';
import type { Sort } from './state.js';
import { WORDS } from './words.js';

/** Rows of a table, and those that a click on "more" adds. */
export const ROWS = 10;
export const MORE_ROWS = 50;

/** Whether a percentile of the row would be that of a few requests. */
export const hasFew = ({ requests }: MetricsRow) => (requests ?? 0) < LEAST_FOR_PERCENTILES;

export const SORTS: Record<Sort, { name: string; word?: string; read: (row: MetricsRow) => number }> = {
  requests: { name: 'Requests', read: ({ requests }) => requests ?? 0 },
  client: { name: '4xx', word: WORDS.clientErrors, read: ({ client_errors }) => client_errors ?? 0 },
  server: { name: '5xx', word: WORDS.serverErrors, read: ({ server_errors }) => server_errors ?? 0 },
  p95: {
    name: 'p95',
    word: WORDS.p95,
    read: (row) => (hasFew(row) ? -1 : (row.response_time_p95 ?? -1)),
  },
};

/** Requests without a route or a consumer come last: they often are of scanners. */
const isNameless = ({ path, consumer_id }: MetricsRow) => path === null || consumer_id === null;

export function sortRows(rows: readonly MetricsRow[], sort: Sort): MetricsRow[] {
  const { read } = SORTS[sort];
  return rows.toSorted((a, b) => Number(isNameless(a)) - Number(isNameless(b)) || read(b) - read(a));
}
