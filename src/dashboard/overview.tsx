import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Api, Consumer, Loaded, MetricsQuery, MetricsRow } from './api.js';
import { Chart } from './chart.js';
import { formatBytes, formatCompact, formatMs, formatNumber, formatShare } from './format.js';
import { ApiRequest, Panel, Text } from './parts.js';
import {
  type Load,
  listFilters,
  sayNothing,
  useConsumers,
  useLoad,
  useSession,
  useWhileVisible,
  useWindow,
} from './session.js';
import { PointsTable } from './points-table.js';
import { type Point, toPoints } from './points.js';
import { type Sort, type State, toPattern } from './state.js';
import { type Window, getWindow, timeZone, toIso } from './time.js';

const REFRESH_MS = 60_000;
const ROWS = 10;
const MORE_ROWS = 50;

/** What all requests of the overview have in common. */
function commonQuery(state: State, window: Window): Pick<MetricsQuery, 'until' | 'filters'> {
  const filters = listFilters(state);
  return {
    ...(!window.isLive && { until: toIso(window.to) }),
    ...(filters.length > 0 && { filters }),
  };
}

/** The chart's data: the window, and the same time before it where that is kept. */
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

/** Asks for the chart's data before the overview is there to show it, which takes the response from the cache. */
export function preloadSeries(api: Api, appId: number, state: State) {
  loadSeries(api, appId, state, getWindow(state.range, state.zone, Date.now())).catch(() => undefined);
}

/** Traffic over time, and the endpoints and consumers behind it. */
export function Overview() {
  const { api, app, state, go, retries } = useSession();
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
  // They would take processor time of the server from the chart.
  const loadAfterChart = async (query: MetricsQuery) => {
    await chart.current;
    return api.metrics(app.id, query, window.to);
  };
  const totals = useLoad(`totals ${id}`, () => loadAfterChart(totalsQuery), subject);
  const endpoints = useLoad(`endpoints ${id}`, () => loadAfterChart(group('method', 'path')), subject);
  const consumers = useLoad(`consumers ${id}`, () => loadAfterChart(group('consumer_id')), subject);
  const names = useConsumers(toIso(window.from));

  const { points, window: charted } = series.value ?? {};
  const hasNothing = points?.every(({ requests }) => requests === 0) && !totals.value?.data[0]?.requests;
  return (
    <main class="overview" id="main">
      <h1 class="visually-hidden">Overview of {app.name}</h1>
      <section class="totals-box" aria-label="Totals">
        <Totals load={totals} points={points} />
        {totals.value && <ApiRequest curl={totals.value.curl} of="Totals" />}
      </section>
      <Panel
        title="Traffic"
        curl={series.value?.curl}
        isBusy={series.isLoading}
        class="traffic"
        actions={
          <button
            type="button"
            class="small quiet"
            aria-pressed={state.isTable}
            onClick={() => go({ isTable: !state.isTable }, 'replace')}
          >
            Table
          </button>
        }
      >
        <div class="traffic-body">
          {points && charted && state.isTable && <PointsTable points={points} window={charted} />}
          {points && charted && !state.isTable && (
            <Chart points={points} window={charted} onZoom={(from, to) => go({ range: { from, to } })} />
          )}
          {hasNothing && <p class="nothing">{sayNothing(state)}</p>}
        </div>
      </Panel>
      <div class="columns">
        <TopTable
          title="Endpoints"
          load={endpoints}
          name={(row) => <EndpointName row={row} />}
          isChosen={({ method, path }) => state.method === method && state.path === toPattern(path ?? '')}
          choose={({ method = null, path }) => go({ method, path: toPattern(path ?? '') })}
          canChoose={({ path }) => path !== null}
        />
        <TopTable
          title="Consumers"
          load={{ ...consumers, isLoading: consumers.isLoading || !names }}
          name={({ consumer_id }) => <ConsumerName id={consumer_id ?? null} names={names} />}
          isChosen={({ consumer_id }) => state.consumer === consumer_id}
          choose={({ consumer_id = null }) => go({ consumer: consumer_id })}
          canChoose={({ consumer_id }) => consumer_id !== null}
        />
      </div>
    </main>
  );
}

function ConsumerName({
  id,
  names,
}: {
  id: number | null;
  names: ReadonlyMap<number, Consumer> | undefined;
}) {
  if (id === null) return <span class="muted">No consumer</span>;
  if (!names) return <span class="placeholder" />;
  const consumer = names.get(id);
  if (!consumer) return <>Consumer {id}</>;
  return (
    <>
      <Text>{consumer.name}</Text>
      {consumer.group && (
        <span class="muted">
          {' '}
          <Text>{consumer.group.name}</Text>
        </span>
      )}
    </>
  );
}

function EndpointName({ row: { method, path } }: { row: MetricsRow }) {
  if (path === null || path === undefined) return <span class="muted">No route</span>;
  return (
    <>
      <span class="method">
        <Text>{method ?? ''}</Text>
      </span>{' '}
      <Text>{path}</Text>
    </>
  );
}

function Totals({ load, points }: { load: Load<Loaded<MetricsRow[]>>; points: Point[] | undefined }) {
  const row = load.value?.data[0];
  const now = points && Date.now();
  // The running period is left out of both, or the comparison would say "less" until it ends.
  const whole = points?.filter(({ end }) => end <= (now ?? 0));
  const sum = whole?.reduce((total, { requests }) => total + requests, 0);
  const before = whole?.reduce((total, point) => total + (point.before ?? 0), 0);
  const change = sum !== undefined && before ? sum / before - 1 : null;
  const isKnown = load.value !== undefined || load.failure !== undefined;
  const requests = load.value ? formatCompact(row?.requests ?? 0) : '–';
  return (
    <dl class="totals" aria-busy={load.isLoading}>
      <Total name="Requests" value={isKnown ? requests : undefined}>
        {change !== null && (
          <span title="Compared with the period before, without the running period">
            {change >= 0 ? '▲' : '▼'} {formatShare(Math.abs(change))}
          </span>
        )}
      </Total>
      <Total name="Error rate" value={isKnown ? formatShare(row?.error_rate) : undefined} />
      <Total name="Response time, p50" value={isKnown ? formatMs(row?.response_time_p50) : undefined} />
      <Total name="Response time, p95" value={isKnown ? formatMs(row?.response_time_p95) : undefined} />
      <Total name="Apdex, 500 ms" value={isKnown ? (row?.apdex?.toFixed(2) ?? '–') : undefined} />
      <Total name="Data sent" value={isKnown ? formatBytes(row?.bytes_sent) : undefined} />
    </dl>
  );
}

function Total(props: { name: string; value: string | undefined; children?: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        {props.value ?? <span class="placeholder" />} <small>{props.children}</small>
      </dd>
    </div>
  );
}

const SORTS: Record<Sort, { name: string; read: (row: MetricsRow) => number }> = {
  requests: { name: 'Requests', read: ({ requests }) => requests ?? 0 },
  errors: {
    name: 'Errors',
    read: ({ client_errors, server_errors }) => (client_errors ?? 0) + (server_errors ?? 0),
  },
  p95: { name: 'p95', read: ({ response_time_p95 }) => response_time_p95 ?? -1 },
};

/** The groups with the most requests, errors or the highest p95. A click filters by the group. */
function TopTable(props: {
  title: string;
  load: ReturnType<typeof useLoad<{ data: MetricsRow[]; curl: string }>>;
  name: (row: MetricsRow) => ComponentChildren;
  isChosen: (row: MetricsRow) => boolean;
  canChoose: (row: MetricsRow) => boolean;
  choose: (row: MetricsRow) => void;
}) {
  const { state, go } = useSession();
  const [count, setCount] = useState(ROWS);
  const { value, isLoading } = props.load;
  const { read } = SORTS[state.sort];
  const rows = useMemo(() => value?.data.toSorted((a, b) => read(b) - read(a)), [value, read]);
  const most = Math.max(1, read(rows?.[0] ?? ({} as MetricsRow)));
  return (
    <Panel title={props.title} curl={value?.curl} isBusy={isLoading} class="top">
      <table>
        <thead>
          <tr>
            <th scope="col">{props.title.slice(0, -1)}</th>
            {(Object.keys(SORTS) as Sort[]).map((sort) => (
              <th
                key={sort}
                scope="col"
                class="number"
                aria-sort={state.sort === sort ? 'descending' : 'none'}
              >
                <button type="button" onClick={() => go({ sort }, 'replace')}>
                  {SORTS[sort].name}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.slice(0, count).map((row) => (
            <tr key={JSON.stringify([row.method, row.path, row.consumer_id])}>
              <th scope="row">
                <i class="share" style={{ width: `${(Math.max(0, read(row)) / most) * 100}%` }} />
                {props.canChoose(row) && !props.isChosen(row) ? (
                  <button type="button" onClick={() => props.choose(row)}>
                    {props.name(row)}
                  </button>
                ) : (
                  <span>{props.name(row)}</span>
                )}
              </th>
              <td class="number">{formatNumber(row.requests)}</td>
              <td class="number">
                {formatNumber(SORTS.errors.read(row))}{' '}
                <span class="muted rate">{formatShare(row.error_rate)}</span>
              </td>
              <td class="number">{formatMs(row.response_time_p95)}</td>
            </tr>
          ))}
          {Array.from({ length: Math.max(0, ROWS - (rows?.length ?? 0)) }, (_, index) => {
            const text = index === 0 && rows?.length === 0 ? sayNothing(state) : '';
            return (
              <tr key={index} class="empty" aria-hidden={text === ''}>
                <td colSpan={4} class={text && 'nothing'}>
                  {rows ? text : <span class="placeholder" />}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <footer>
        {rows && rows.length > count && (
          <button type="button" class="small quiet" onClick={() => setCount(count + MORE_ROWS)}>
            Show {Math.min(MORE_ROWS, rows.length - count)} more of {formatNumber(rows.length)}
          </button>
        )}
      </footer>
    </Panel>
  );
}
