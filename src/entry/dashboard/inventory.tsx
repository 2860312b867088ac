import { useState } from 'preact/hooks';
import type { Consumer, Endpoint, MetricsQuery, MetricsRow } from './api.js';
import { nameFile } from './export.js';
import { formatNumber } from './format.js';
import { GroupName } from './group-name.js';
import { EmptyRows, ShowMore } from './more-rows.js';
import { EndpointName, Panel, saveFile } from './parts.js';
import { ROWS } from './sort-rows.js';
import { findEnv, linkTo, useConsumers, useLoad, useSession, withoutScope } from './session.js';
import { NO_FILTERS, toPattern } from './state.js';
import { formatTime, toIso } from './time.js';

const HOUR_MS = 3_600_000;
/** As the API counts requests and consumers of endpoints. */
const COUNTED_MS = 30 * 24 * HOUR_MS;
/** Rows of a list of endpoints before a click on "more". */
const SHOWN = 5;
/** Paths in one filter. */
const MAX_PATHS = 100;
/** A spreadsheet would run a cell that begins so. */
const FORMULA = /^[=+\-@\t\r]/;

/** The endpoints beside their documentation: which can be turned off, and who would notice? */
export function Inventory() {
  const { api, app, state } = useSession();
  const envId = findEnv({ app, state })?.id;
  const inventory = useLoad(`inventory ${app.id} ${envId ?? ''}`, () => api.inventory(app.id, envId));
  const { data: endpoints, never_called: neverCalled } = inventory.value?.data ?? {};
  const deprecated = endpoints?.filter(
    (endpoint) => endpoint.deprecated === true || typeof endpoint.sunset === 'string',
  );
  const common = { curl: inventory.value?.curl, isBusy: inventory.isLoading };
  return (
    <main class="overview" id="main">
      <h1 class="visually-hidden">Inventory of {app.name}</h1>
      <Panel title="Deprecated endpoints" class="top inventory" {...common}>
        <Endpoints
          label="List of deprecated endpoints"
          endpoints={deprecated}
          nothing="No OpenAPI document and no response header says that an endpoint is deprecated."
        />
      </Panel>
      <Callers deprecated={deprecated} />
      <div class="columns">
        <Panel title="Undocumented endpoints" class="top inventory" {...common}>
          <Endpoints
            label="List of undocumented endpoints"
            endpoints={endpoints?.filter(({ documented }) => documented === false)}
            nothing={
              endpoints?.some(({ documented }) => documented === true)
                ? 'The OpenAPI document has all endpoints.'
                : 'The app has no OpenAPI document: its library sends one, or request-analytics openapi import.'
            }
          />
        </Panel>
        <Panel title="Documented, never called" class="top inventory" {...common}>
          <Endpoints
            label="List of operations that were never called"
            endpoints={neverCalled}
            nothing="Every documented operation was called."
            isCalled={false}
          />
        </Panel>
      </div>
    </main>
  );
}

type Listed = Pick<Endpoint, 'method' | 'path'> & Partial<Endpoint>;

function Endpoints(props: {
  label: string;
  endpoints: readonly Listed[] | undefined;
  nothing: string;
  /** Whether they have requests. */
  isCalled?: boolean;
}) {
  const { label, endpoints, nothing, isCalled = true } = props;
  const { state } = useSession();
  const [count, setCount] = useState(SHOWN);
  const day = (time: string | null | undefined) =>
    typeof time === 'string' ? formatTime(Date.parse(time), 'date', state.zone) : '–';
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr>
              <th scope="col">Endpoint</th>
              <th scope="col">Sunset</th>
              {isCalled && (
                <>
                  <th scope="col">Last request</th>
                  <th scope="col" class="number">
                    Requests, 30 days
                  </th>
                  <th scope="col" class="number">
                    Consumers, 30 days
                  </th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {endpoints?.slice(0, count).map(({ method, path, sunset, last_request_at, ...called }) => (
              <tr key={`${method} ${path}`}>
                <th scope="row">
                  <a
                    href={linkTo(state, {
                      ...NO_FILTERS,
                      env: state.env,
                      view: 'overview',
                      method,
                      path: toPattern(path),
                    })}
                  >
                    <EndpointName method={method} path={path} />
                  </a>
                </th>
                <td>{day(sunset)}</td>
                {isCalled && (
                  <>
                    <td>{day(last_request_at)}</td>
                    <td class="number">{formatNumber(called.requests_30d)}</td>
                    <td class="number">{formatNumber(called.consumers_30d)}</td>
                  </>
                )}
              </tr>
            ))}
            <EmptyRows
              length={SHOWN}
              rows={endpoints}
              columns={isCalled ? 5 : 2}
              nothing={endpoints?.length === 0 ? nothing : ''}
            />
          </tbody>
        </table>
      </div>
      <footer>
        <ShowMore rows={endpoints} count={count} setCount={setCount} />
      </footer>
    </>
  );
}

/**
 * The consumers of deprecated endpoints in 30 days, those with the most requests first.
 *
 * @param deprecated undefined while they load
 */
function Callers({ deprecated }: { deprecated: readonly Listed[] | undefined }) {
  const { api, app, state } = useSession();
  const [count, setCount] = useState(ROWS);
  const since = toIso(Math.floor((Date.now() - COUNTED_MS) / HOUR_MS) * HOUR_MS);
  // A filter has methods and paths, not pairs of them: one query for each method.
  const queries = [...new Set(deprecated?.map(({ method }) => method))].map((method): MetricsQuery => ({
    since,
    metrics: ['requests'],
    group_by: ['consumer_id', 'method', 'path'],
    filters: [
      ...(state.env === null ? [] : [{ field: 'env', op: 'eq', value: state.env } as const]),
      { field: 'method', op: 'eq', value: method },
      {
        field: 'path',
        op: 'in',
        value: (deprecated ?? [])
          .filter((endpoint) => endpoint.method === method)
          .slice(0, MAX_PATHS)
          .map(({ path }) => path),
      },
    ],
  }));
  const load = useLoad(
    queries.length === 0 ? null : `callers ${app.id} ${JSON.stringify(queries)}`,
    async () => {
      const loaded = await Promise.all(queries.map((query) => api.metrics(app.id, query, Infinity))).catch(
        withoutScope,
      );
      const rows = loaded?.flatMap(({ data }) => data) ?? [];
      return { rows: rows.sort((a, b) => (b.requests ?? 0) - (a.requests ?? 0)), curl: loaded?.[0]?.curl };
    },
  );
  const rows = load.value?.rows;
  const ids = rows?.flatMap(({ consumer_id }) => consumer_id ?? []) ?? [];
  const names = useConsumers(rows ? since : null, ids);
  return (
    <Panel
      title="Who still calls them"
      curl={load.value?.curl}
      isBusy={load.isLoading || (rows !== undefined && !names)}
      class="top inventory"
      actions={
        rows &&
        rows.length > 0 && (
          <button
            type="button"
            class="small quiet"
            onClick={() =>
              saveFile(
                new Blob([writeCsv(rows, names)], { type: 'text/csv' }),
                `${nameFile(app.name, Date.parse(since), null)}_deprecated.csv`,
              )
            }
          >
            CSV
          </button>
        )
      }
    >
      <div class="scroll" tabIndex={0} role="region" aria-label="List of callers">
        <table>
          <thead>
            <tr>
              <th scope="col">Consumer</th>
              <th scope="col">Endpoint</th>
              <th scope="col" class="number">
                Requests, 30 days
              </th>
            </tr>
          </thead>
          <tbody>
            {rows?.slice(0, count).map(({ consumer_id = null, method, path, requests }) => (
              <tr key={JSON.stringify([consumer_id, method, path])}>
                <th scope="row">
                  <GroupName group={{ consumer_id }} names={names} />
                </th>
                <td>
                  <EndpointName method={method} path={path ?? ''} />
                </td>
                <td class="number">{formatNumber(requests)}</td>
              </tr>
            ))}
            <EmptyRows
              length={ROWS}
              rows={rows}
              columns={3}
              nothing={deprecated && (rows ?? queries).length === 0 ? 'Nobody in the last 30 days.' : ''}
            />
          </tbody>
        </table>
      </div>
      <footer>
        <ShowMore rows={rows} count={count} setCount={setCount} />
      </footer>
    </Panel>
  );
}

/** The rows with the names of consumers, which metrics do not have. */
function writeCsv(rows: readonly MetricsRow[], names: ReadonlyMap<number, Consumer> | undefined): string {
  const lines = rows.map(({ consumer_id, method, path, requests }) => {
    const consumer = typeof consumer_id === 'number' ? names?.get(consumer_id) : undefined;
    return [consumer_id, consumer?.identifier, consumer?.name, consumer?.group?.name, method, path, requests];
  });
  return [['consumer_id', 'consumer', 'name', 'group', 'method', 'path', 'requests'], ...lines]
    .map((cells) => cells.map(writeCell).join(','))
    .join('\r\n');
}

function writeCell(value: string | number | null | undefined): string {
  const text = String(value ?? '');
  return `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}
