import { useState } from 'preact/hooks';
import type { App, MetricsQuery } from './api.js';
import { Bars } from './bars.js';
import { Delta } from './delta.js';
import { formatMs, formatNumber, formatShare } from './format.js';
import { ShowMore } from './more-rows.js';
import { Firing, Panel, Text } from './parts.js';
import { loadSeries } from './overview-data.js';
import { compareSums } from './points.js';
import { linkTo, useLoad, useSession, useWindow, withoutScope } from './session.js';
import { NOTHING_OPEN, NO_FILTERS } from './state.js';
import { formatTime, toPeriod } from './time.js';
import { WORDS } from './words.js';

/** Each app takes two or three requests, and by default a key has a hundred a minute. */
const ROWS = 10;
const METRICS: MetricsQuery['metrics'] = ['requests', 'error_rate', 'response_time_p95'];

/** All apps of the key, one a row. */
export function Apps() {
  const { api, apps } = useSession();
  const firing = useLoad('firing', () => api.firing().catch(withoutScope));
  const [count, setCount] = useState(ROWS);
  return (
    <main class="overview" id="main">
      <h1 class="visually-hidden">All apps</h1>
      <Panel title="Apps" curl={undefined} class="apps">
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">App</th>
                <th scope="col">Requests over time</th>
                <th scope="col" class="number">
                  Requests
                </th>
                <th scope="col" class="number" title={WORDS.errorRate}>
                  Error rate
                </th>
                <th scope="col" class="number" title={WORDS.p95}>
                  p95
                </th>
                <th scope="col" class="number">
                  Firing
                </th>
                <th scope="col" class="number">
                  Last data
                </th>
              </tr>
            </thead>
            <tbody>
              {apps.slice(0, count).map((app) => (
                <Row key={app.id} app={app} firing={firing.value?.get(app.id)} />
              ))}
            </tbody>
          </table>
        </div>
        {apps.length > count && (
          <footer>
            <ShowMore rows={apps} count={count} setCount={setCount} step={ROWS} />
          </footer>
        )}
      </Panel>
    </main>
  );
}

/** @param props.firing its alerts that fire */
function Row({ app, firing }: { app: App; firing: number | undefined }) {
  const { api, state, retries } = useSession();
  const shown = { ...state, ...NO_FILTERS };
  const window = useWindow(shown, retries);
  const hasData = app.envs.length > 0;
  const { value } = useLoad(hasData ? `app ${app.id} ${JSON.stringify(window)}` : null, async () => {
    const series = await loadSeries(api, app.id, shown, window);
    const query = {
      ...toPeriod(window),
      metrics: METRICS,
    };
    const { data } = await api.metrics(app.id, query, window.to);
    return { ...series, total: data[0] };
  });
  const change = value && compareSums(value.points, 'requests');
  const lastSync = Math.max(
    ...app.envs.flatMap(({ last_sync_at }) => (last_sync_at === null ? [] : Date.parse(last_sync_at))),
  );
  return (
    <tr aria-busy={hasData && !value}>
      <th scope="row">
        <a href={linkTo(shown, { ...NOTHING_OPEN, view: 'overview', app: app.id })}>
          <Text max={100}>{app.name}</Text>
        </a>
      </th>
      <td>
        {value && <Bars points={value.points} label={`Requests of ${app.name.slice(0, 100)} over time`} />}
      </td>
      <td class="number">
        {change && (
          <Delta
            {...change}
            format={formatNumber}
            title={`${window.before?.name ?? ''}, without the running period`}
          />
        )}
        {hasData ? (
          value ? (
            formatNumber(value.total?.requests ?? 0)
          ) : (
            <span class="placeholder" />
          )
        ) : (
          'no data yet'
        )}
      </td>
      <td class="number">{formatShare(value?.total?.error_rate)}</td>
      <td class="number">{formatMs(value?.total?.response_time_p95)}</td>
      <td class="number">
        {firing !== undefined && (
          <a href={linkTo(shown, { ...NOTHING_OPEN, view: 'alerts', app: app.id })}>
            <Firing count={firing} />
          </a>
        )}
      </td>
      <td class="number">
        {Number.isFinite(lastSync) ? formatTime(lastSync, 'stamp', state.zone).slice(0, -4) : '–'}
      </td>
    </tr>
  );
}
