import { useEffect, useRef } from 'preact/hooks';
import { ApiFailure, type ErrorRow, type ErrorsQuery } from './api.js';
import { Bars } from './bars.js';
import { Code } from './captured-text.js';
import { formatNumber } from './format.js';
import { ApiRequest, CloseButton, EndpointName, Fact, SentryLink, Text } from './parts.js';
import { linkTo, useLoad, useSession } from './session.js';
import { NO_SEARCH, toPattern } from './state.js';
import { type Window, formatMinute, getWindow, listStarts, timeZone, toIso } from './time.js';
import { Trace } from './trace.js';

/** One error of an environment: since when, how often, whom it met, its newest request and trace. */
export function ErrorDetails(props: {
  /** Its fingerprint, a hyphen and its environment. */
  name: string;
  /** Its row in the list, if the list has it. */
  row: ErrorRow | undefined;
  /** The query of the list. */
  query: ErrorsQuery;
  isListed: boolean;
  close: () => void;
}) {
  const { name, query, isListed, close } = props;
  const { api, app, state } = useSession();
  const filters: ErrorsQuery['filters'] = [
    ...(query.filters ?? []).filter(({ field }) => field !== 'env'),
    { field: 'fingerprint', op: 'eq', value: name.slice(0, 16) },
    { field: 'env', op: 'eq', value: name.slice(17) },
  ];
  const load = (body: ErrorsQuery) => api.errors(app.id, body).catch(toUnknown);
  const alone: ErrorsQuery = { ...query, filters };
  const found = useLoad(isListed && !props.row ? `error ${app.id} ${JSON.stringify(alone)}` : null, () =>
    load(alone),
  );
  const month = getWindow({ preset: '30d' }, state.zone, Date.now());
  const byDay: ErrorsQuery = {
    since: toIso(month.from),
    timezone: timeZone(state.zone),
    group_by: ['day'],
    filters,
  };
  const days = useLoad(`days ${app.id} ${JSON.stringify(byDay)}`, () => load(byDay));
  const row = props.row ?? found.value?.data[0];
  const error = row ?? days.value?.data.at(-1);
  const isUnknown = days.value !== undefined && !error && !found.isLoading;
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus({ preventScroll: true }), []);
  return (
    <aside class="details panel" aria-labelledby="error-title" aria-busy={!days.value && !days.failure}>
      <header>
        <h2 id="error-title" tabIndex={-1} ref={title}>
          <span class="clip">{error ? <Text max={100}>{error.type}</Text> : 'Error'}</span>
        </h2>
        {days.value && <ApiRequest curl={days.value.curl} of="Error" />}
        <CloseButton close={close} />
      </header>
      <div class="scroll" tabIndex={-1}>
        {isUnknown && <p class="nothing">There is no such error in this time, nor in the last 30 days.</p>}
        {!error && !isUnknown && <span class="placeholder tall" />}
        {error && <Summary error={error} row={row} />}
        {error && <Days rows={days.value?.data} window={month} />}
        {error && <Newest error={error} />}
      </div>
    </aside>
  );
}

/** The address names no error. The panel says so; this is not a failure. */
function toUnknown(error: unknown): { data: ErrorRow[]; curl: string } {
  if (error instanceof ApiFailure && error.status === 422) return { data: [], curl: '' };
  throw error;
}

/** @param props.row of the window; undefined: it did not come in it */
function Summary({ error, row }: { error: ErrorRow; row: ErrorRow | undefined }) {
  const { state } = useSession();
  const { kind, type, message, method, path, env, fingerprint, request_uuid, sentry_event_id } = error;
  const requests = { view: 'requests', error: null, env } as const;
  const endpoint = path === null ? {} : { method, path: toPattern(path) };
  return (
    <div class="summary">
      {message !== null && (
        <p class="exception">
          <Text max={2000}>{message}</Text>
        </p>
      )}
      <dl class="facts">
        <Fact name="First seen">{formatMinute(Date.parse(error.first_seen), state.zone)}</Fact>
        <Fact name="Last seen">{formatMinute(Date.parse(error.last_seen), state.zone)}</Fact>
        <Fact name="Errors in this time">{formatNumber(row?.errors ?? 0)}</Fact>
        <Fact name="Consumers in this time">{formatNumber(row?.consumers ?? 0)}</Fact>
        <Fact name="Endpoint">
          {path === null ? 'No route' : <EndpointName method={method} path={path} />}
        </Fact>
        <Fact name="Environment">
          <Text>{env}</Text>
        </Fact>
        <Fact name="Kind">{kind}</Fact>
        <Fact name="Fingerprint">
          <code>{fingerprint}</code>
        </Fact>
      </dl>
      <div class="buttons">
        {request_uuid !== null && (
          <a
            class="button small"
            href={linkTo(state, { ...requests, request: request_uuid, tab: 'exception' })}
          >
            Newest request
          </a>
        )}
        {kind !== 'validation' && (
          <a
            class="button small"
            href={linkTo(state, { ...requests, ...endpoint, ...NO_SEARCH, exception: type })}
          >
            Requests with it
          </a>
        )}
        <SentryLink event={sentry_event_id} />
      </div>
    </div>
  );
}

/** How often it came on each of the last 30 days. */
function Days({ rows = [], window }: { rows: readonly ErrorRow[] | undefined; window: Window }) {
  const starts = listStarts(window.from, window.to, 'day', window.zone);
  const counts = starts.map(() => 0);
  for (const { period_start, errors } of rows) {
    const at = starts.indexOf(Date.parse(period_start ?? ''));
    if (at >= 0) counts[at] = errors;
  }
  const bars = counts.map((errors) => ({ requests: errors, clientErrors: 0, serverErrors: errors }));
  const total = counts.reduce((sum, errors) => sum + errors, 0);
  return (
    <div class="summary">
      <h3>Last 30 days: {formatNumber(total)}</h3>
      <Bars points={bars} label="Errors of each of the last 30 days" />
    </div>
  );
}

/** The trace and the stack trace of its newest request. */
function Newest({ error: { request_uuid, trace_id, last_seen } }: { error: ErrorRow }) {
  const { api, app } = useSession();
  const { value } = useLoad(request_uuid && `request ${app.id} ${request_uuid}`, () =>
    api.requestDetails(app.id, request_uuid ?? '').catch(toNothing),
  );
  const details = value?.data;
  return (
    <div class="summary">
      {trace_id !== null && (
        <Trace id={trace_id} time={Date.parse(details?.timestamp ?? last_seen)} uuid={request_uuid ?? ''} />
      )}
      {details?.exception && (
        <>
          <h3>Stack trace</h3>
          <Code text={details.exception.stacktrace} name="Stack trace" />
        </>
      )}
    </div>
  );
}

/** The request may be of an excluded endpoint, or the key's scopes may leave out details. */
function toNothing(error: unknown): null {
  if (error instanceof ApiFailure && (error.status === 404 || error.isOfScopes)) return null;
  throw error;
}
