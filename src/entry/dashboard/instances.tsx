import { useState } from 'preact/hooks';
import type { Api, Instance, InstancesQuery } from './api.js';
import { Bars } from './bars.js';
import { formatBytes, formatNumber } from './format.js';
import { Panel, Text } from './parts.js';
import { findEnv, useLiveWindow, useLoad, useSession } from './session.js';
import { type Window, formatMinute, toIso } from './time.js';

/** Periods of the window, for which processor time and memory are drawn. */
const PERIODS = 24;

/** The processes of the app that reported in the window; those that still report come first. */
export function Instances() {
  const { api, app, state } = useSession();
  const { window, refreshes } = useLiveWindow();
  const [pages, setPages] = useState(1);
  const env = findEnv({ app, state });
  const query: InstancesQuery = {
    start: toIso(window.from),
    end: toIso(window.to),
    ...(env && { app_env_id: env.id }),
    periods: PERIODS,
  };
  const { value, isLoading } = useLoad(
    `instances ${app.id} ${JSON.stringify([query, pages, refreshes])}`,
    () => loadInstances(api, app.id, query, pages),
    JSON.stringify([state.range, state.zone, state.env]),
  );
  const rows = value?.instances.toSorted((a, b) => Number(a.is_silent) - Number(b.is_silent));
  const silent = rows?.filter(({ is_silent }) => is_silent).length ?? 0;
  return (
    <main class="overview" id="main">
      <h1 class="visually-hidden">Instances of {app.name}</h1>
      <Panel
        title="Instances"
        curl={value?.curl}
        isBusy={isLoading}
        class="instances"
        actions={
          <span class="muted count" role="status">
            {rows &&
              rows.length > 0 &&
              `${formatNumber(rows.length - silent)} running, ${formatNumber(silent)} silent`}
          </span>
        }
      >
        {!rows && <span class="placeholder tall" />}
        {rows?.length === 0 && (
          <p class="nothing">
            No instance reported in this time. Client libraries and SDKs of OpenTelemetry name the process
            that sends; imported logs name none.
          </p>
        )}
        {rows && rows.length > 0 && (
          <div class="scroll" tabIndex={0} role="region" aria-label="List of instances">
            <table>
              <thead>
                <tr>
                  {['Instance', 'State', 'Version', 'Framework', 'Environment', 'Since', 'Last report'].map(
                    (name) => (
                      <th key={name} scope="col">
                        {name}
                      </th>
                    ),
                  )}
                  <th scope="col">Processor</th>
                  <th scope="col">Memory</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <Row key={`${row.instance_uuid ?? ''} ${row.env}`} instance={row} window={window} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        {value?.hasMore && (
          <footer>
            <button type="button" class="small quiet" onClick={() => setPages(pages + 1)}>
              Show more
            </button>
          </footer>
        )}
      </Panel>
    </main>
  );
}

function Row({ instance, window }: { instance: Instance; window: Window }) {
  const { state } = useSession();
  const { instance_uuid, app_version, framework, versions, env, is_silent, resources } = instance;
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const [first, last] = [Date.parse(instance.first_seen), Date.parse(instance.last_seen)];
  const name = instance_uuid?.slice(0, 8) ?? 'without a name';
  return (
    <tr class={is_silent ? 'muted' : ''}>
      <th scope="row" title={instance_uuid ?? undefined}>
        <code>{name}</code>
      </th>
      <td>{is_silent ? 'silent' : <span class="running">running</span>}</td>
      <td>{app_version === null ? '–' : <Text max={40}>{app_version}</Text>}</td>
      <td>
        {framework === null ? '–' : <Text max={40}>{framework}</Text>}
        {packages.length > 0 && (
          <span class="clip muted">
            <Text max={100}>{packages.join(', ')}</Text>
          </span>
        )}
      </td>
      <td>
        <Text max={40}>{env}</Text>
      </td>
      <td>{formatMinute(first, state.zone)}</td>
      <td>{formatMinute(last, state.zone)}</td>
      <Usage
        of={`Processor time of ${name}`}
        values={place(resources, window, ({ cpu_percent }) => cpu_percent)}
        format={(percent) => `${percent.toFixed(1)} %`}
      />
      <Usage
        of={`Memory of ${name}`}
        values={place(resources, window, ({ memory_rss_bytes }) => memory_rss_bytes)}
        format={formatBytes}
      />
    </tr>
  );
}

/** The newest value, and all of the window as bars. */
function Usage(props: { of: string; values: readonly (number | null)[]; format: (value: number) => string }) {
  const { of, values, format } = props;
  const newest = values.findLast((value) => value !== null);
  if (newest === undefined) return <td>–</td>;
  const bars = values.map((value) => ({ requests: value ?? 0, clientErrors: 0, serverErrors: 0 }));
  return (
    <td>
      {format(newest)}
      <Bars points={bars} label={`${of} over time`} />
    </td>
  );
}

/** The values of the window's periods; null where the instance reported none. */
function place(
  resources: Instance['resources'],
  { from, to }: Window,
  read: (resources: Instance['resources'][number]) => number | null,
): (number | null)[] {
  const values = Array.from<number | null>({ length: PERIODS }).fill(null);
  for (const resource of resources) {
    const period = Math.floor(((Date.parse(resource.period_start) - from) / (to - from)) * PERIODS + 0.5);
    if (period >= 0 && period < PERIODS) values[period] = read(resource);
  }
  return values;
}

/** The first pages. */
async function loadInstances(api: Api, appId: number, query: InstancesQuery, pages: number) {
  const instances: Instance[] = [];
  let [curl, next_token]: [string?, string?] = [];
  for (let page = 0; page < pages; page++) {
    const loaded = await api.instances(appId, { ...query, ...(next_token && { next_token }) });
    instances.push(...loaded.data.data);
    curl ??= loaded.curl;
    next_token = loaded.data.next_token;
    if (next_token === undefined) break;
  }
  return { instances, hasMore: next_token !== undefined, curl };
}
