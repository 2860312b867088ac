import { useMemo, useRef, useState } from 'preact/hooks';
import type { Api, MetricsQuery } from './api.js';
import { toPoints } from './points.js';
import { listFilters, useConsumers, useLoad, useSession, useWhileVisible, useWindow } from './session.js';
import type { State } from './state.js';
import { type Window, getWindow, timeZone, toIso } from './time.js';
import { SHOWN_ROWS, sortRows } from './top-table.js';

const REFRESH_MS = 60_000;

/** The data of the overview, loaded again each minute while the window moves on. */
export function useOverviewData() {
  const { api, app, state, retries } = useSession();
  const [refreshes, setRefreshes] = useState(0);
  const window = useWindow(state, [refreshes, retries]);
  useWhileVisible(REFRESH_MS, window.isLive, () => {
    api.forgetRunning();
    setRefreshes((count) => count + 1);
  });

  const whole = { since: toIso(window.from), ...commonQuery(state, window) };
  const totalsQuery: MetricsQuery = {
    ...whole,
    metrics: ['requests', 'bytes_sent', 'error_rate', 'response_time_p50', 'response_time_p95', 'apdex'],
  };
  const group = (...group_by: NonNullable<MetricsQuery['group_by']>): MetricsQuery => ({
    ...whole,
    group_by,
    metrics: ['requests', 'client_errors', 'server_errors', 'error_rate', 'response_time_p95'],
  });
  const id = JSON.stringify([app.id, whole, window, refreshes]);
  const subject = JSON.stringify([state.range, state.zone, whole.filters]);
  const chart = useRef<Promise<unknown>>(undefined);
  const series = useLoad(
    `series ${id}`,
    () => {
      const loading = loadSeries(api, app.id, state, window);
      chart.current = loading.catch(() => undefined);
      return loading;
    },
    subject,
  );
  // Earlier, they would take the server's processor time away from the chart.
  const loadAfterChart = async (query: MetricsQuery) => {
    await chart.current;
    return api.metrics(app.id, query, window.to);
  };
  const totals = useLoad(`totals ${id}`, () => loadAfterChart(totalsQuery), subject);
  const endpoints = useLoad(`endpoints ${id}`, () => loadAfterChart(group('method', 'path')), subject);
  const consumers = useLoad(`consumers ${id}`, () => loadAfterChart(group('consumer_id')), subject);
  const shownIds = useMemo(
    () =>
      sortRows(consumers.value?.data ?? [], state.sort)
        .slice(0, SHOWN_ROWS)
        .flatMap(({ consumer_id }) => consumer_id ?? []),
    [consumers.value, state.sort],
  );
  const names = useConsumers(toIso(window.from), shownIds);
  return { series, totals, endpoints, consumers, names };
}

/**
 * Requests the chart's data before the overview is rendered; the overview takes the response from the cache.
 */
export function preloadSeries(api: Api, appId: number, state: State) {
  loadSeries(api, appId, state, getWindow(state.range, state.zone, Date.now())).catch(() => undefined);
}

/** The chart's data: the window, and the time before it if that is retained. */
async function loadSeries(api: Api, appId: number, state: State, window: Window) {
  const begin = window.previousFrom ?? window.from;
  const query: MetricsQuery = {
    ...commonQuery(state, window),
    since: toIso(begin),
    interval: window.interval,
    ...(window.interval !== 'minute' && { timezone: timeZone(window.zone) }),
    metrics: [
      'requests',
      'client_errors',
      'server_errors',
      'error_rate',
      'response_time_p50',
      'response_time_p95',
    ],
  };
  const { data, curl } = await api.metricSeries(appId, query, begin, window.to);
  return { points: toPoints(data, window), window, curl };
}

/** The common part of all requests of the overview. */
function commonQuery(state: State, window: Window): Pick<MetricsQuery, 'until' | 'filters'> {
  const filters = listFilters(state);
  return {
    ...(!window.isLive && { until: toIso(window.to) }),
    ...(filters.length > 0 && { filters }),
  };
}
