import { useState } from 'preact/hooks';
import type { ErrorRow, ErrorsQuery } from './api.js';
import { ErrorDetails } from './error-details.js';
import { formatNumber } from './format.js';
import { useKeys } from './keys.js';
import { ApiRequest, EndpointName, Text } from './parts.js';
import { Placeholders } from './requests.js';
import {
  hasFilters,
  hasSearch,
  linkTo,
  onPlainClick,
  listErrorFilters,
  useLiveWindow,
  useLoad,
  useSession,
} from './session.js';
import { formatMinute, toPeriod } from './time.js';
import { WORDS } from './words.js';

/** The most errors that are asked for, the most frequent first. */
const MOST = 1000;
const ROWS = 100;

/** The name of an error in the address. */
const nameError = ({ fingerprint, env }: ErrorRow) => `${fingerprint}-${env}`;

/** The errors of the window, the most frequent first, next to the open one. */
export function Errors() {
  const { api, app, state, go } = useSession();
  const { window, refreshes } = useLiveWindow();
  const [count, setCount] = useState(ROWS);
  const filters = listErrorFilters(state);
  const query: ErrorsQuery = {
    ...toPeriod(window),
    ...(filters.length > 0 && { filters }),
    limit: MOST,
  };
  const { value, isLoading } = useLoad(
    `errors ${app.id} ${JSON.stringify(query)} ${refreshes}`,
    () => api.errors(app.id, query),
    JSON.stringify([state.range, state.zone, filters]),
  );
  const rows = value?.data;
  const close = () => go({ error: null });
  useKeys((key) => {
    if (key !== 'Escape' || state.error === null) return false;
    close();
    return true;
  });
  return (
    <main class={state.error === null ? 'requests' : 'requests with-details'} id="main">
      <h1 class="visually-hidden">Errors of {app.name}</h1>
      <section class="panel logs" aria-labelledby="errors-title" aria-busy={isLoading}>
        <header>
          <h2 id="errors-title">Errors</h2>
          <span class="muted count" role="status">
            {rows && `${formatNumber(rows.length)}${rows.length === MOST ? ' most frequent' : ''}`}
          </span>
          <ApiRequest curl={value?.curl} of="Errors" />
        </header>
        {(hasSearch(state) || state.status !== null) && (
          <p class="note muted">
            Errors are not kept by status, URL, duration, size, client, exception or ID: these filters narrow
            other views alone.
          </p>
        )}
        <div class="scroll" tabIndex={-1}>
          <table class="log-table">
            <thead>
              <tr>
                <th scope="col">Error</th>
                <th scope="col" class="column-env">
                  Environment
                </th>
                <th scope="col" class="number">
                  Errors
                </th>
                <th scope="col" class="number" title={WORDS.errorConsumers}>
                  Consumers
                </th>
                <th scope="col" class="number column-first" title={WORDS.firstSeen}>
                  First
                </th>
                <th scope="col" class="number column-last">
                  Last
                </th>
              </tr>
            </thead>
            <tbody>
              {rows?.slice(0, count).map((row) => (
                <Row key={nameError(row)} row={row} from={window.from} />
              ))}
              {!rows && <Placeholders columns={6} isLoading={isLoading} />}
            </tbody>
          </table>
          {rows?.length === 0 && (
            <p class="nothing">No errors {hasFilters(state) ? 'match the filters ' : ''}in this time.</p>
          )}
          {rows && rows.length > count && (
            <button type="button" class="more" onClick={() => setCount(count + ROWS)}>
              Show more
            </button>
          )}
        </div>
      </section>
      {state.error !== null && (
        <ErrorDetails
          key={state.error}
          name={state.error}
          row={rows?.find((row) => nameError(row) === state.error)}
          query={query}
          isListed={rows !== undefined}
          close={close}
        />
      )}
    </main>
  );
}

/** @param props.from start of the window: an error that came first after it is new */
function Row({ row, from }: { row: ErrorRow; from: number }) {
  const { state, go } = useSession();
  const name = nameError(row);
  const isSelected = name === state.error;
  const { kind, type, message, method, path, env, errors, consumers } = row;
  const [first, last] = [Date.parse(row.first_seen), Date.parse(row.last_seen)];
  return (
    <tr class={isSelected ? 'selected' : ''} onClick={onPlainClick(() => go({ error: name }))}>
      <td class="column-error">
        <a class="clip" href={linkTo(state, { error: name })} aria-current={isSelected ? 'true' : undefined}>
          <strong>
            <Text max={100}>{type}</Text>
          </strong>{' '}
          {message !== null && <Text>{message}</Text>}
        </a>
        <span class="clip muted">
          {kind} {path === null ? 'without a route' : <EndpointName method={method} path={path} />}
        </span>
      </td>
      <td class="column-env">
        <Text max={40}>{env}</Text>
      </td>
      <td class="number">{formatNumber(errors)}</td>
      <td class="number">{formatNumber(consumers)}</td>
      <td class="number column-first">
        {first >= from && <span class="delta worse">new </span>}
        <time dateTime={row.first_seen}>{formatMinute(first, state.zone)}</time>
      </td>
      <td class="number column-last">
        <time dateTime={row.last_seen}>{formatMinute(last, state.zone)}</time>
      </td>
    </tr>
  );
}
