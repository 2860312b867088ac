import { useMemo, useRef } from 'preact/hooks';
import type { Api, MetricsQuery, MetricsRow } from './api.js';
import { type Point, toPoints } from './points.js';
import { listFilters, useConsumers, useLiveWindow, useLoad, useSession, withoutScope } from './session.js';
import type { State } from './state.js';
import { type Window, getWindow, timeZone, toIso } from './time.js';
import { MORE_ROWS, ROWS, sortRows } from './sort-rows.js';

/** The metrics of the cards. */
const TOTALS: MetricsQuery['metrics'] = [
  'requests',
  'bytes_sent',
  'error_rate',
  'response_time_p50',
  'response_time_p95',
  'apdex',
];
/** The metrics of the tables. */
const COLUMNS: MetricsQuery['metrics'] = ['requests', 'client_errors', 'server_errors', 'response_time_p95'];

/** Rows of the window, and of the window that it is compared with; no rows if there is none. */
export interface Compared {
  data: MetricsRow[];
  before: MetricsRow[] | null;
  curl: string;
}

/** The data of the overview, loaded again each minute while the window moves on. */
export function useOverviewData() {
  const { api, app, state } = useSession();
  const { window, refreshes } = useLiveWindow();

  const { before } = window;
  const whole = { since: toIso(window.from), ...commonQuery(state, window) };
  const id = JSON.stringify([app.id, whole, window, refreshes]);
  const subject = JSON.stringify([state.range, state.zone, state.compare, state.interval, whole.filters]);
  const chart = useRef<ReturnType<typeof loadSeries> | undefined>(undefined);
  const loadChart = () => {
    chart.current = loadSeries(api, app.id, state, window);
    return chart.current;
  };
  const series = useLoad(`series ${id}`, loadChart, subject);
  const load = async (
    query: Pick<MetricsQuery, 'metrics' | 'group_by'>,
    isCompared = true,
  ): Promise<Compared> => {
    // Earlier, they would take the server's processor time away from the chart.
    const drawn = await chart.current?.catch(() => undefined);
    const [{ data, curl }, earlier] = await Promise.all([
      api.metrics(app.id, { ...whole, ...query }, window.to),
      isCompared && before && drawn?.isComparable
        ? api.metrics(
            app.id,
            { ...whole, ...query, since: toIso(before.from), until: toIso(before.until) },
            before.until,
          )
        : null,
    ]);
    return { data, before: earlier?.data ?? null, curl };
  };
  const totals = useLoad(`totals ${id}`, () => load({ metrics: TOTALS }), subject);
  const loadGroups = (...group_by: NonNullable<MetricsQuery['group_by']>) =>
    load({ metrics: COLUMNS, group_by }, group_by[0] !== 'status_code');
  const endpoints = useLoad(`endpoints ${id}`, () => loadGroups('method', 'path'), subject);
  const consumers = useLoad(`consumers ${id}`, () => loadGroups('consumer_id'), subject);
  const statuses = useLoad(`statuses ${id}`, () => loadGroups('status_code'), subject);
  const shownIds = useMemo(
    () =>
      sortRows(consumers.value?.data ?? [], state.sort)
        .slice(0, ROWS + MORE_ROWS)
        .flatMap(({ consumer_id }) => consumer_id ?? []),
    [consumers.value, state.sort],
  );
  const names = useConsumers(toIso(window.from), shownIds);
  return { window, series, totals, endpoints, consumers, statuses, names };
}

/**
 * Requests the chart's data before the overview is rendered; the overview takes the response from the cache.
 */
export function preloadSeries(api: Api, appId: number, state: State) {
  loadSeries(api, appId, state, getWindow(state.range, state.zone, Date.now(), state)).catch(() => undefined);
}

export interface Series {
  points: Point[];
  window: Window;
  /** Whether the app has data of all of the earlier window. */
  isComparable: boolean;
  /** The start of the app's data if it lies behind the start of the earlier window. */
  dataFrom: number | null;
  curl: string;
}

/** The chart's data: the window, and the time before it if that is retained. */
export async function loadSeries(api: Api, appId: number, state: State, window: Window): Promise<Series> {
  const { before } = window;
  const begin = before?.from ?? window.from;
  const query: MetricsQuery = {
    ...commonQuery(state, window),
    since: toIso(begin),
    interval: window.interval,
    ...(window.interval !== 'minute' && { timezone: timeZone(window.zone) }),
    metrics: [
      'requests',
      'bytes_sent',
      'client_errors',
      'server_errors',
      'error_rate',
      'response_time_p50',
      'response_time_p95',
    ],
  };
  const { data, curl } = await api.metricSeries(appId, query, begin, window.to);
  const dataFrom = before && (await findDataFrom(api, appId, data, before));
  const isComparable = before !== null && dataFrom === null;
  return { points: toPoints(data, window, isComparable), window, isComparable, dataFrom, curl };
}

/** The start of the app's data if it lies behind the start of a window; null if it lies before. */
async function findDataFrom(
  api: Api,
  appId: number,
  rows: readonly MetricsRow[],
  { from }: { from: number },
): Promise<number | null> {
  // Periods without requests have no row: only if the first one has none, the app may have begun later.
  if (rows.some(({ period_start }) => Date.parse(period_start) === from)) return null;
  const first = await api.firstHour(appId).catch(withoutScope);
  return first !== null && first > from ? first : null;
}

/** The common part of all requests of the overview. */
function commonQuery(state: State, window: Window): Pick<MetricsQuery, 'until' | 'filters'> {
  const filters = listFilters(state);
  return {
    ...(!window.isLive && { until: toIso(window.to) }),
    ...(filters.length > 0 && { filters }),
  };
}
