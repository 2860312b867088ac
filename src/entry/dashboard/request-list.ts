import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { RequestLog, RequestLogsQuery } from './api.js';
import { searchLogs } from './search.js';
import {
  type Session,
  findEnv,
  hasSearch,
  hasWrongStatus,
  listLogFilters,
  toFailure,
  useSession,
  useWhileVisible,
  useWindow,
} from './session.js';
import { toLogsPattern } from './state.js';
import { logsKeptFrom, toBounds, toIso } from './time.js';

const PAGE = 100;
const TAIL_MS = 5000;
/**
 * In a tab that stays open the list grows up to this length, or up to what was loaded before. It is also the
 * largest page.
 */
const TAIL_ROWS = 1000;
/** Client libraries send at least every minute, so new requests may be a little older than listed ones. */
const TAIL_OVERLAP_MS = 120_000;

interface Page {
  logs: RequestLog[];
  /**
   * The parameters of the request for the next page: the token; the end, if the tail pushed rows out or in a
   * search.
   */
  next: Pick<RequestLogsQuery, 'next_token' | 'end' | 'limit'> | undefined;
  curl: string | undefined;
}

interface List extends Page {
  id: string;
  isLoading: boolean;
  /** Whether the last page could not be loaded: scrolling would request it again at once. */
  hasFailed: boolean;
}

/** The request logs of the window, page by page, and new ones while the tail is on. */
export function useRequestLogs() {
  const session = useSession();
  const { api, app, state, retries, fail } = session;
  const filters = toQuery(session);
  const isSearch = hasSearch(state);
  const search = listLogFilters(state);
  const id = JSON.stringify([app.id, filters, isSearch && search, state.range, state.zone, retries]);
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
  const bounds = toBounds(window);

  /** The requests since a time, or those before the end of the last page. */
  const find = async (from: number, next?: List['next']): Promise<Page> => {
    if (!filters) return { logs: [], next: undefined, curl: undefined };
    if (!isSearch) {
      const query = { limit: PAGE, ...filters, ...bounds, start: toIso(from), ...next };
      const { data, curl } = await api.requestLogs(app.id, query);
      const { next_token } = data;
      return { logs: data.data, next: next_token === undefined ? undefined : { next_token }, curl };
    }
    const to = next?.end === undefined ? window.to : Date.parse(next.end);
    const start = Math.max(from, logsKeptFrom(Date.now()));
    if (start >= to) return { logs: [], next: undefined, curl: undefined };
    const { logs, searchedFrom, curl } = await searchLogs(api, app.id, search, { from: start, to });
    return { logs, next: searchedFrom > start ? { end: toIso(searchedFrom) } : undefined, curl };
  };
  const load = useCallback(
    async (next?: List['next']) => {
      setList((old) => ({ ...old, isLoading: true }));
      try {
        const page = await find(window.from, next);
        if (current.current !== id) return;
        setList((old) => ({
          id,
          logs: next ? merge(old.logs, page.logs) : page.logs,
          next: page.next,
          isLoading: false,
          hasFailed: false,
          curl: next ? old.curl : page.curl,
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
    find(Math.max(window.from, since), { limit: TAIL_ROWS }).then(
      ({ logs, next }) => {
        if (current.current === id) setList((old) => addToTail(old, logs, next !== undefined));
      },
      (error: unknown) => fail(toFailure(error)),
    );
  });
  return { list, load, window, isCurrent: list.id === id };
}

/**
 * The filters of the state as parameters of Get Request Logs; null if nothing can match them: the app does
 * not have the environment, or the status is none.
 */
export function toQuery({ app, state }: Pick<Session, 'app' | 'state'>): RequestLogsQuery | null {
  const { env, consumer, method, path, status } = state;
  const knownEnv = findEnv({ app, state });
  if ((env !== null && !knownEnv) || hasWrongStatus(state)) return null;
  return {
    ...(knownEnv && { app_env_id: knownEnv.id }),
    ...(consumer !== null && { consumer_id: consumer }),
    ...(method !== null && { method }),
    ...(path !== null && { path: toLogsPattern(path) }),
    ...(status !== null && { status_code: status }),
  };
}

/** Newest first, each request once. */
function merge(loaded: RequestLog[], more: RequestLog[]): RequestLog[] {
  const ids = new Set(loaded.map(({ request_uuid }) => request_uuid));
  const added = more.filter(({ request_uuid }) => !ids.has(request_uuid));
  if (added.length === 0) return loaded;
  return [...loaded, ...added].sort((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp));
}

/**
 * The list with newer requests, which push out the oldest ones beyond `TAIL_ROWS`; the next page begins with
 * those.
 *
 * @param hasMore whether requests between `newer` and the list may be missing: `newer` becomes the list, and
 *   the next page begins behind it. Not while a page loads, which continues the list as it is
 */
function addToTail(list: List, newer: RequestLog[], hasMore: boolean): List {
  const listed = new Set(list.logs.map(({ request_uuid }) => request_uuid));
  const isApart = !newer.some(({ request_uuid }) => listed.has(request_uuid));
  if (hasMore && (isApart || list.logs.length <= TAIL_ROWS))
    return list.isLoading ? list : { ...list, logs: newer, next: nextBehind(newer) };
  const all = merge(list.logs, newer);
  const maxRows = Math.max(TAIL_ROWS, list.logs.length);
  if (all.length <= maxRows || list.isLoading) return { ...list, logs: all };
  const logs = all.slice(0, maxRows);
  return { ...list, logs, next: nextBehind(logs) };
}

/** The next page repeats requests of the last millisecond, and `merge` leaves them out. */
function nextBehind(logs: RequestLog[]): List['next'] {
  const oldest = logs.at(-1);
  if (!oldest) return undefined;
  const again = logs.filter(({ timestamp }) => timestamp === oldest.timestamp).length;
  return {
    end: new Date(Date.parse(oldest.timestamp) + 1).toISOString(),
    limit: Math.min(TAIL_ROWS, again + PAGE),
  };
}
