import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RequestLog } from './api.js';
import { Bars } from './bars.js';
import { Details } from './details.js';
import { Export } from './export.js';
import { formatNumber } from './format.js';
import { useKeys } from './keys.js';
import { loadSeries } from './overview-data.js';
import { ApiRequest } from './parts.js';
import { type Point, toPoints } from './points.js';
import { type Column, ColumnPicker, chosenColumns, columnClass } from './request-columns.js';
import { useRequestLogs } from './request-list.js';
import {
  hasSearch,
  linkTo,
  listFilters,
  onPlainClick,
  sayNothing,
  useLoad,
  useSession,
  withoutScope,
} from './session.js';
import { hasAsterisk } from './state.js';
import { type Window, formatTime, logsKeptFrom } from './time.js';

/** After this many rows a button loads more pages, because rows take the browser's memory. */
const SCROLL_ROWS = 3000;

/** The request logs of the window, next to the open request. */
export function Requests() {
  const { app, state, go } = useSession();
  const { list, load, window, isCurrent } = useRequestLogs();
  const { logs, next } = list;
  const columns = chosenColumns(state);
  const keptFrom = logsKeptFrom(Date.now());
  const body = useRef<HTMLTableSectionElement>(null);
  const { selected, open, close } = useSelection(logs, body, isCurrent);
  return (
    <main class={state.request === null ? 'requests' : 'requests with-details'} id="main">
      <h1 class="visually-hidden">Requests of {app.name}</h1>
      <section class="panel logs" aria-labelledby="logs-title" aria-busy={list.isLoading}>
        <header>
          <h2 id="logs-title">Requests</h2>
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
          <ApiRequest curl={list.curl} of="Requests" />
        </header>
        <Strip window={window} logs={isCurrent ? logs : []} />
        {keptFrom > window.from && (
          <p class="note muted">
            Single requests are kept for 15 days: since {formatTime(keptFrom, 'weekday', state.zone)}.
            Overview has the counts of the time before.
          </p>
        )}
        {hasAsterisk(state.path ?? '') && !hasSearch(state) && (
          <p class="note muted">
            The API lists request logs by a pattern, in which * is any text, so requests of other paths may be
            among these. Overview and Export have the path alone.
          </p>
        )}
        <div class="scroll" tabIndex={-1}>
          <table class="log-table">
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column.id} scope="col" class={columnClass(column)}>
                    {column.name}
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
                  isSelected={log.request_uuid === selected}
                  open={open}
                />
              ))}
              {!isCurrent && logs.length === 0 && (
                <Placeholders columns={columns.length} isLoading={list.isLoading} />
              )}
            </tbody>
          </table>
          {isCurrent && logs.length === 0 && (
            <p class="nothing">
              {keptFrom >= window.to ? 'No single requests are kept of this time.' : sayNothing(state)}
            </p>
          )}
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

/**
 * Requests by period under the same filters. Counts are not kept by all filters: then the bars are of the
 * listed requests.
 */
function Strip({ window, logs }: { window: Window; logs: RequestLog[] }) {
  const { api, app, state, go, retries } = useSession();
  const isSearch = hasSearch(state);
  const { value } = useLoad(
    isSearch ? null : `strip ${app.id} ${JSON.stringify([window, listFilters(state), retries])}`,
    () => loadSeries(api, app.id, state, { ...window, before: null }).catch(withoutScope),
  );
  const points = useMemo(() => {
    const keptFrom = logsKeptFrom(Date.now());
    const all = isSearch ? countLogs(logs, window) : value?.points;
    return all?.filter(({ end }) => end > keptFrom);
  }, [isSearch, logs, value]);
  return (
    <div class="strip">
      {points && (
        <Bars
          points={points}
          label={isSearch ? 'Listed requests by period' : 'Requests by period'}
          choose={(index) => {
            const { start, end } = points[index] ?? {};
            if (start !== undefined && end !== undefined)
              go({ range: { from: start, to: end }, interval: null });
          }}
        />
      )}
    </div>
  );
}

/** The points of a chart, by the requests that are listed. */
function countLogs(logs: readonly RequestLog[], window: Window): Point[] {
  const points = toPoints([], window, false);
  for (const { timestamp, status_code } of logs) {
    const at = Date.parse(timestamp);
    const point = points[points.findLastIndex(({ start }) => start <= at)];
    if (!point) continue;
    point.requests++;
    if (status_code >= 500) point.serverErrors++;
    else if (status_code >= 400) point.clientErrors++;
  }
  return points;
}

/** The selected row, which clicks and keys move, and the open request, which is in the address. */
function useSelection(
  logs: RequestLog[],
  body: RefObject<HTMLTableSectionElement | null>,
  isCurrent: boolean,
) {
  const { state, go } = useSession();
  const [selected, setSelected] = useState<string | null>(state.request);
  const open = (request: string, how?: 'push' | 'replace') => {
    go({ request, tab: null }, how);
    setSelected(request);
  };
  const close = () => {
    go({ request: null, tab: null });
    body.current?.querySelector<HTMLElement>('.selected a')?.focus();
  };
  const move = (step: 1 | -1): boolean => {
    const at = logs.findIndex(({ request_uuid }) => request_uuid === selected);
    const target = Math.max(0, Math.min(logs.length - 1, at + step));
    const log = logs[target];
    if (!log) return false;
    const row = body.current?.rows[target];
    row?.scrollIntoView({ block: 'nearest' });
    if (state.request !== null) open(log.request_uuid, 'replace');
    else {
      setSelected(log.request_uuid);
      row?.querySelector('a')?.focus({ preventScroll: true });
    }
    return true;
  };

  // A linked request may be far down the list.
  useEffect(() => {
    if (isCurrent) body.current?.querySelector('.selected')?.scrollIntoView({ block: 'nearest' });
  }, [isCurrent]);
  useKeys((key) => {
    if (key === 'j' || key === 'k') return move(key === 'j' ? 1 : -1);
    if (key === 'Escape' && state.request !== null) close();
    else if (key === 'Enter' && selected !== null && state.request === null) open(selected);
    else return false;
    return true;
  });
  return { selected, open, close };
}

export function Placeholders({ columns, isLoading }: { columns: number; isLoading: boolean }) {
  return Array.from({ length: 20 }, (_, index) => (
    <tr key={index} aria-hidden="true">
      <td colSpan={columns}>{isLoading && <span class="placeholder" />}</td>
    </tr>
  ));
}

function Row(props: {
  log: RequestLog;
  columns: Column[];
  isSelected: boolean;
  open: (request: string) => void;
}) {
  const { state } = useSession();
  const { log, columns, isSelected } = props;
  const link = linkTo(state, { request: log.request_uuid, tab: null });
  return (
    <tr class={isSelected ? 'selected' : ''} onClick={onPlainClick(() => props.open(log.request_uuid))}>
      {columns.map((column, index) => (
        <td key={column.id} class={columnClass(column)}>
          {index === 0 ? (
            <a href={link} aria-current={isSelected ? 'true' : undefined}>
              {column.show(log, state)}
            </a>
          ) : (
            column.show(log, state)
          )}
        </td>
      ))}
    </tr>
  );
}

/** Loads the next page when it scrolls into view, or by its button. */
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
