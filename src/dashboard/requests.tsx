import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ExportQuery, RequestLog, RequestLogsQuery } from './api.js';
import { Details } from './details.js';
import { formatBytes, formatMs, formatNumber } from './format.js';
import { ApiRequest, Popover, Status, Text } from './parts.js';
import {
  type Session,
  linkTo,
  listFilters,
  sayNothing,
  toFailure,
  useSession,
  useWhileVisible,
  useWindow,
} from './session.js';
import { type State, hasAsterisk, toLogsPattern } from './state.js';
import { formatTime, toIso } from './time.js';

const PAGE = 100;
/** Beyond, more pages come by a button: so many rows take the browser's memory. */
const SCROLL_ROWS = 3000;
const TAIL_MS = 5000;
/** The tail of a tab that stays open does not grow beyond these, or what was loaded before; the most that a page can have. */
const TAIL_ROWS = 1000;
/** Client libraries send what they have every minute at the latest, so new requests may be a little older than others. */
const TAIL_OVERLAP_MS = 120_000;

interface Column {
  id: string;
  name: string;
  /** Its name in an export. */
  field: NonNullable<ExportQuery['fields']>[number];
  isNumber?: boolean;
  isUsual?: boolean;
  show: (log: RequestLog, state: State) => ComponentChildren;
}

const COLUMNS: readonly Column[] = [
  {
    id: 'time',
    name: 'Time',
    field: 'timestamp',
    isUsual: true,
    show: ({ timestamp }, { zone }) => {
      const [day = '', clock = ''] = formatTime(Date.parse(timestamp), 'stamp', zone).split(', ');
      return (
        <time dateTime={timestamp}>
          <span class="day">{day}</span>
          <span class="wide">, </span>
          {clock.slice(0, -4)}
          <span class="wide">{clock.slice(-4)}</span>
        </time>
      );
    },
  },
  {
    id: 'status',
    name: 'Status',
    field: 'status_code',
    isUsual: true,
    show: ({ status_code }) => <Status code={status_code} />,
  },
  {
    id: 'method',
    name: 'Method',
    field: 'method',
    isUsual: true,
    show: ({ method }) => (
      <span class="method">
        <Text max={20}>{method}</Text>
      </span>
    ),
  },
  {
    id: 'path',
    name: 'Path',
    field: 'path',
    isUsual: true,
    show: ({ path, url }) => (path === null ? <Text>{targetOf(url)}</Text> : <Text>{path}</Text>),
  },
  { id: 'url', name: 'URL', field: 'url', show: ({ url }) => <Text>{url}</Text> },
  {
    id: 'consumer',
    name: 'Consumer',
    field: 'consumer_id',
    isUsual: true,
    show: ({ consumer }) => consumer !== null && <Text max={100}>{consumer}</Text>,
  },
  { id: 'env', name: 'Environment', field: 'env', show: ({ env }) => <Text max={40}>{env}</Text> },
  {
    id: 'duration',
    name: 'Duration',
    field: 'response_time_ms',
    isNumber: true,
    isUsual: true,
    show: ({ response_time_ms }) => formatMs(response_time_ms),
  },
  {
    id: 'received',
    name: 'Received',
    field: 'request_size_bytes',
    isNumber: true,
    show: ({ request_size_bytes }) => formatBytes(request_size_bytes),
  },
  {
    id: 'sent',
    name: 'Sent',
    field: 'response_size_bytes',
    isNumber: true,
    isUsual: true,
    show: ({ response_size_bytes }) => formatBytes(response_size_bytes),
  },
  {
    id: 'client',
    name: 'Client',
    field: 'client_ip',
    show: ({ client_ip }) => client_ip !== null && <Text max={60}>{client_ip}</Text>,
  },
  {
    id: 'country',
    name: 'Country',
    field: 'client_country_iso_code',
    show: ({ client_country_iso_code }) =>
      client_country_iso_code !== null && <Text max={10}>{client_country_iso_code}</Text>,
  },
];

/** The URL without its origin. */
function targetOf(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/';
}

function chosenColumns({ columns }: State): Column[] {
  const chosen = COLUMNS.filter(({ id }) => columns?.includes(id));
  return chosen.length > 0 ? chosen : COLUMNS.filter(({ isUsual }) => isUsual);
}

/** The filters of the state as Get Request Logs takes them; null: an environment that the app does not have. */
function toQuery({ app, state }: Session): RequestLogsQuery | null {
  const { env, consumer, method, path, status } = state;
  const known = app.envs.find(({ name }) => name === env);
  if (env !== null && !known) return null;
  return {
    limit: PAGE,
    ...(known && { app_env_id: known.id }),
    ...(consumer !== null && { consumer_id: consumer }),
    ...(method !== null && { method }),
    ...(path !== null && { path: toLogsPattern(path) }),
    ...(status !== null && { status_code: status }),
  };
}

interface List {
  id: string;
  logs: RequestLog[];
  /** What the request for the next page has besides: the token, or the end where the tail pushed rows out. */
  next: Pick<RequestLogsQuery, 'next_token' | 'end' | 'limit'> | undefined;
  isLoading: boolean;
  /** Whether the last page could not be loaded: scrolling would ask for it again at once. */
  hasFailed: boolean;
  curl: string | undefined;
}

/** The request logs of the window, page by page, and those that arrive while the tail is on. */
function useRequestLogs(session: Session) {
  const { api, app, state, retries, fail } = session;
  const filters = toQuery(session);
  const id = JSON.stringify([app.id, filters, state.range, state.zone, retries]);
  const window = useWindow(state, [id, state.isTail]);
  const [list, setList] = useState<List>({
    id: '',
    logs: [],
    next: undefined,
    isLoading: true,
    hasFailed: false,
    curl: undefined,
  });
  const current = useRef(id);
  current.current = id;
  const bounds = {
    start: toIso(window.from),
    ...(!window.isLive && { end: toIso(window.to) }),
  };

  const load = useCallback(
    async (next?: List['next']) => {
      setList((old) => ({ ...old, isLoading: true }));
      try {
        const query = filters && { ...filters, ...bounds, ...next };
        const { data: page, curl } = query
          ? await api.requestLogs(app.id, query)
          : { data: { data: [], next_token: undefined }, curl: undefined };
        if (current.current !== id) return;
        setList((old) => ({
          id,
          logs: next ? merge(old.logs, page.data) : page.data,
          next: page.next_token === undefined ? undefined : { next_token: page.next_token },
          isLoading: false,
          hasFailed: false,
          curl: next ? old.curl : curl,
        }));
      } catch (error) {
        if (current.current !== id) return;
        setList((old) => ({ ...old, isLoading: false, hasFailed: true }));
        fail(toFailure(error));
      }
    },
    [id],
  );
  useEffect(() => void load(), [load]);

  useWhileVisible(TAIL_MS, state.isTail && window.isLive && list.id === id, () => {
    const newest = list.logs[0];
    const since = newest ? Date.parse(newest.timestamp) - TAIL_OVERLAP_MS : window.from;
    const start = toIso(Math.max(window.from, since));
    if (!filters) return;
    api.requestLogs(app.id, { ...filters, start, limit: TAIL_ROWS }).then(
      ({ data: page }) => {
        if (current.current === id)
          setList((old) => addToTail(old, page.data, page.next_token !== undefined));
      },
      (error: unknown) => fail(toFailure(error)),
    );
  });
  return { list, load, window, isCurrent: list.id === id };
}

/** Newest first, each request once. */
function merge(known: RequestLog[], more: RequestLog[]): RequestLog[] {
  const ids = new Set(known.map(({ request_uuid }) => request_uuid));
  const added = more.filter(({ request_uuid }) => !ids.has(request_uuid));
  if (added.length === 0) return known;
  return [...known, ...added].sort((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp));
}

/**
 * The list with newer requests, which push out the oldest ones beyond `TAIL_ROWS`; the next page begins with those.
 *
 * @param hasMore whether requests between `newer` and the list may be missing: `newer` becomes the list, and the next page
 *   begins behind it. Not while a page loads, which continues the list as it is
 */
function addToTail(list: List, newer: RequestLog[], hasMore: boolean): List {
  const known = new Set(list.logs.map(({ request_uuid }) => request_uuid));
  const isApart = !newer.some(({ request_uuid }) => known.has(request_uuid));
  if (hasMore && (isApart || list.logs.length <= TAIL_ROWS))
    return list.isLoading ? list : { ...list, logs: newer, next: nextBehind(newer) };
  const all = merge(list.logs, newer);
  const most = Math.max(TAIL_ROWS, list.logs.length);
  if (all.length <= most || list.isLoading) return { ...list, logs: all };
  const logs = all.slice(0, most);
  return { ...list, logs, next: nextBehind(logs) };
}

/** Requests of the last millisecond come again, beside a page of others: `merge` leaves them out. */
function nextBehind(logs: RequestLog[]): List['next'] {
  const oldest = logs.at(-1);
  if (!oldest) return undefined;
  const again = logs.filter(({ timestamp }) => timestamp === oldest.timestamp).length;
  return {
    end: new Date(Date.parse(oldest.timestamp) + 1).toISOString(),
    limit: Math.min(TAIL_ROWS, again + PAGE),
  };
}

export function Requests() {
  const session = useSession();
  const { state, go } = session;
  const { list, load, window, isCurrent } = useRequestLogs(session);
  const [selected, setSelected] = useState<string | null>(state.request);
  const body = useRef<HTMLTableSectionElement>(null);
  const { logs, next } = list;
  const columns = chosenColumns(state);

  const open = useCallback(
    (request: string | null, how: 'push' | 'replace' = 'push') => {
      go({ request, tab: null }, how);
      if (request !== null) setSelected(request);
    },
    [go],
  );
  const close = useCallback(() => {
    open(null);
    body.current?.querySelector<HTMLElement>('.selected a')?.focus();
  }, [open]);

  // A link to a request can lead far down the list.
  useEffect(() => {
    if (isCurrent) body.current?.querySelector('.selected')?.scrollIntoView({ block: 'nearest' });
  }, [isCurrent]);

  useKeys((key) => {
    if (key === 'Escape' && state.request !== null) close();
    else if (key === 'Enter' && selected !== null && state.request === null) open(selected);
    else if (key === 'j' || key === 'k') {
      const at = logs.findIndex(({ request_uuid }) => request_uuid === selected);
      const target = Math.max(0, Math.min(logs.length - 1, at + (key === 'j' ? 1 : -1)));
      const log = logs[target];
      if (!log) return false;
      setSelected(log.request_uuid);
      if (state.request !== null) open(log.request_uuid, 'replace');
      const row = body.current?.rows[target];
      row?.scrollIntoView({ block: 'nearest' });
      if (state.request === null) row?.querySelector('a')?.focus({ preventScroll: true });
    } else return false;
    return true;
  });

  return (
    <main class={state.request === null ? 'requests' : 'requests with-details'} id="main">
      <section class="panel logs" aria-labelledby="logs-title" aria-busy={list.isLoading}>
        <header>
          <h1 id="logs-title">Requests</h1>
          <span class="muted count" role="status">
            {isCurrent &&
              `${formatNumber(logs.length)}${next ? ' newest' : ''} ${state.isTail ? '· live' : ''}`}
          </span>
          <button
            type="button"
            class="small quiet tail"
            aria-pressed={state.isTail && window.isLive}
            disabled={!window.isLive}
            onClick={() => go({ isTail: !state.isTail }, 'replace')}
          >
            Live tail
          </button>
          <ColumnPicker columns={columns} />
          <Export from={window.from} until={window.isLive ? null : window.to} columns={columns} />
          {list.curl === undefined ? (
            <span class="api-space" />
          ) : (
            <ApiRequest curl={list.curl} of="Requests" />
          )}
        </header>
        {hasAsterisk(state.path ?? '') && (
          <p class="note muted">
            The API lists request logs by a pattern, in which * is any text, so requests of other paths may be
            among these. Overview and Export have the path alone.
          </p>
        )}
        <div class="scroll" tabIndex={-1}>
          <table class="log-table">
            <thead>
              <tr>
                {columns.map(({ id, name, isNumber }) => (
                  <th key={id} scope="col" class={isNumber ? `column-${id} number` : `column-${id}`}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody ref={body} class={isCurrent ? '' : 'stale'}>
              {logs.map((log) => (
                <Row
                  key={log.request_uuid}
                  log={log}
                  columns={columns}
                  state={state}
                  isSelected={log.request_uuid === selected}
                  open={open}
                />
              ))}
              {!isCurrent &&
                logs.length === 0 &&
                Array.from({ length: 20 }, (_, index) => (
                  <tr key={index} aria-hidden="true">
                    <td colSpan={columns.length}>{list.isLoading && <span class="placeholder" />}</td>
                  </tr>
                ))}
            </tbody>
          </table>
          {isCurrent && logs.length === 0 && <p class="nothing">{sayNothing(state)}</p>}
          <More
            isOn={isCurrent && next !== undefined && !list.isLoading}
            isScrolled={logs.length < SCROLL_ROWS && !list.hasFailed}
            load={() => void load(next)}
          />
        </div>
      </section>
      {state.request !== null && (
        <Details
          key={state.request}
          uuid={state.request}
          log={logs.find(({ request_uuid }) => request_uuid === state.request)}
          close={close}
        />
      )}
    </main>
  );
}

function Row(props: {
  log: RequestLog;
  columns: Column[];
  state: State;
  isSelected: boolean;
  open: (request: string) => void;
}) {
  const { log, columns, state } = props;
  const patch = { request: log.request_uuid, tab: null };
  return (
    <tr
      class={props.isSelected ? 'selected' : ''}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || getSelection()?.toString()) return;
        event.preventDefault();
        props.open(log.request_uuid);
      }}
    >
      {columns.map(({ id, isNumber, show }, index) => (
        <td key={id} class={isNumber ? `column-${id} number` : `column-${id}`}>
          {index === 0 ? (
            <a href={linkTo(state, patch)} aria-current={props.isSelected ? 'true' : undefined}>
              {show(log, state)}
            </a>
          ) : (
            show(log, state)
          )}
        </td>
      ))}
    </tr>
  );
}

/** Loads the next page when it comes into view, or by its button. */
function More({ isOn, isScrolled, load }: { isOn: boolean; isScrolled: boolean; load: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (!button.current || !isScrolled) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) latest.current();
      },
      { rootMargin: '400px' },
    );
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [isOn, isScrolled]);
  if (!isOn) return null;
  return (
    <button type="button" class="more" ref={button} onClick={() => latest.current()}>
      Load more
    </button>
  );
}

function ColumnPicker({ columns }: { columns: Column[] }) {
  const { go } = useSession();
  const chosen = new Set(columns.map(({ id }) => id));
  return (
    <Popover label="Columns" class="small quiet">
      <fieldset class="column-picker">
        <legend>Columns</legend>
        {COLUMNS.map(({ id, name }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={chosen.has(id)}
              disabled={chosen.size === 1 && chosen.has(id)}
              onChange={() => {
                const next = COLUMNS.filter((one) => chosen.has(one.id) !== (one.id === id));
                const isUsual = next.every((one) => one.isUsual) && next.length === USUAL;
                go({ columns: isUsual ? null : next.map((one) => one.id) }, 'replace');
              }}
            />
            {name}
          </label>
        ))}
      </fieldset>
    </Popover>
  );
}
const USUAL = COLUMNS.filter(({ isUsual }) => isUsual).length;

const FORMATS = [
  ['ndjson', 'NDJSON'],
  ['csv', 'CSV'],
  ['parquet', 'Parquet'],
] as const;

/** Saves all requests of the window that match, with the shown columns, as a file. */
function Export(props: { from: number; until: number | null; columns: Column[] }) {
  const { api, app, state, fail } = useSession();
  const [isBusy, setIsBusy] = useState(false);
  const [said, setSaid] = useState('');
  const filters = listFilters(state);
  const body = (format: (typeof FORMATS)[number][0]): ExportQuery => ({
    format,
    since: toIso(props.from),
    ...(props.until !== null && { until: toIso(props.until) }),
    fields: props.columns.map(({ field }) => field),
    ...(filters.length > 0 && { filters }),
  });
  const save = async (format: (typeof FORMATS)[number][0]) => {
    setIsBusy(true);
    setSaid('Exporting…');
    try {
      const url = URL.createObjectURL(await api.exportFile(app.id, body(format)));
      const link = document.createElement('a');
      link.href = url;
      link.download = `requests.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      setSaid('Saved');
    } catch (error) {
      const failure = toFailure(error);
      setSaid(failure.message);
      if (failure.status !== 0) fail(failure);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <Popover label="Export" class="small quiet">
      <div class="api-request">
        <p>All requests of this time that match the filters, with the shown columns.</p>
        <div class="buttons">
          {FORMATS.map(([format, name]) => (
            <button key={format} type="button" disabled={isBusy} onClick={() => void save(format)}>
              {name}
            </button>
          ))}
          <span role="status">{said}</span>
        </div>
        <p>The same on the command line:</p>
        <pre tabIndex={0}>
          <Text max={20_000}>{api.exportCurl(app.id, body('ndjson'))}</Text>
        </pre>
      </div>
    </Popover>
  );
}

/** Calls for a key that is typed nowhere in particular; true: it was used. */
export function useKeys(press: (key: string) => boolean) {
  const latest = useRef(press);
  latest.current = press;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (target.closest('input, select, textarea, [popover], dialog')) return;
      if (event.key === 'Enter' && target.closest('a, button, [tabindex="0"]')) return;
      if (latest.current(event.key)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
