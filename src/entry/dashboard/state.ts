import { useCallback, useEffect, useState } from 'preact/hooks';
import type { ChangesQuery } from './api.js';
import {
  type Comparison,
  type Interval,
  PRESETS,
  type Preset,
  type Range,
  type Zone,
  toIso,
} from './time.js';

type View = 'apps' | 'overview' | 'requests' | 'errors' | 'inventory' | 'instances' | 'alerts';
export type Sort = 'requests' | 'client' | 'server' | 'p95';
type Measure = ChangesQuery['measure'];

/** What "What changed?" explains. */
export const MEASURES: Record<Measure, string> = {
  requests: 'Requests',
  errors: 'Errors',
  client_errors: '4xx',
  server_errors: '5xx',
  response_time: 'Response time, p95',
};

/** The state of the page. All of it is in the URL, so that Back, a reload and a link show the same. */
export interface State {
  view: View;
  /** Null: the first app. */
  app: number | null;
  range: Range;
  zone: Zone;
  compare: Comparison;
  /** Null: the usual one of the range. */
  interval: Interval | null;
  env: string | null;
  consumer: number | null;
  method: string | null;
  /** A path pattern; `*` is any text, `\*` an asterisk and `\\` a backslash. */
  path: string | null;
  /** Status codes and classes, separated by commas. */
  status: string | null;
  /** A text in the URL. */
  url: string | null;
  /** Milliseconds that requests took at least. */
  slower: number | null;
  /** Bytes that responses had at least. */
  larger: number | null;
  /** A text in the address of the client. */
  client: string | null;
  /** A text in the type of the exception. */
  exception: string | null;
  /** UUID of a request. */
  id: string | null;
  sort: Sort;
  /** Whether the chart is shown as a table. */
  isTable: boolean;
  /** The measure whose change is explained; null: none. */
  changed: Measure | null;
  /** The version since which the change is explained; null: the window. */
  release: string | null;
  /** Columns of the request logs; null: the default columns. */
  columns: string[] | null;
  isTail: boolean;
  /** The open request. */
  request: string | null;
  tab: string | null;
  /** The open error: its fingerprint, a hyphen and its environment. */
  error: string | null;
}

const DEFAULT_RANGE: Preset = '24h';
/** Filters that only request logs have: counts are not kept by them. */
export const NO_SEARCH = {
  url: null,
  slower: null,
  larger: null,
  client: null,
  exception: null,
  id: null,
} as const;
/** Nothing is open beside a list. */
export const NOTHING_OPEN = { request: null, tab: null, error: null } as const;
export const NO_FILTERS = {
  env: null,
  consumer: null,
  method: null,
  path: null,
  status: null,
  ...NO_SEARCH,
} as const;
/** Codes and classes, separated by commas. */
export const STATUS = /^[1-9](?:\d\d|xx)(?:,[1-9](?:\d\d|xx))*$/;
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const ESCAPED = /\\([\\*])/g;

/** The pattern that matches only this path. */
export function toPattern(path: string): string {
  return path.replaceAll(/[\\*]/g, '\\$&');
}

/** The only path that the pattern matches; null: it may match several. */
export function toExactPath(pattern: string): string | null {
  return pattern.replaceAll(ESCAPED, '').includes('*') ? null : pattern.replaceAll(ESCAPED, '$1');
}

/** Whether the pattern contains an escaped asterisk. */
export function hasAsterisk(pattern: string): boolean {
  return pattern.match(ESCAPED)?.includes('\\*') ?? false;
}

/**
 * A pattern for Get Request Logs, which has no escapes: an asterisk there matches any text, so other paths
 * may match too.
 */
export function toLogsPattern(pattern: string): string {
  return pattern.replaceAll(ESCAPED, '$1');
}

/** All addresses of the page begin with this, and no other addresses do. */
const HERE = './?';

function parseState(search: string): State {
  const query = new URLSearchParams(search);
  const number = (name: string) =>
    /^\d{1,10}$/.test(query.get(name) ?? '') ? Number(query.get(name)) : null;
  /** One of the words; undefined if the address has another one or none. */
  const word = <Word extends string>(name: string, words: readonly Word[]) =>
    words.find((each) => each === query.get(name));
  return {
    view: word('view', ['apps', 'requests', 'errors', 'inventory', 'instances', 'alerts']) ?? 'overview',
    app: number('app'),
    range: parseRange(query),
    zone: word('zone', ['utc']) ?? 'local',
    compare: word('compare', ['week']) ?? 'before',
    interval: word<Interval>('interval', ['minute', 'hour', 'day']) ?? null,
    env: query.get('env'),
    consumer: number('consumer'),
    method: query.get('method'),
    path: query.get('path'),
    status: query.get('status'),
    url: query.get('url'),
    slower: number('slower'),
    larger: number('larger'),
    client: query.get('client'),
    exception: query.get('exception'),
    id: query.get('id'),
    sort: word('sort', ['client', 'server', 'p95']) ?? 'requests',
    isTable: query.get('chart') === 'table',
    changed: word('changed', Object.keys(MEASURES) as Measure[]) ?? null,
    release: query.get('release'),
    columns: query.get('columns')?.split(',') ?? null,
    isTail: query.get('tail') === 'on',
    request: query.get('request'),
    tab: query.get('tab'),
    error: query.get('error'),
  };
}

function parseRange(query: URLSearchParams): Range {
  const [from, to] = [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '')];
  if (from < to) return { from, to };
  const preset = query.get('range') ?? '';
  return { preset: Object.hasOwn(PRESETS, preset) ? (preset as Preset) : DEFAULT_RANGE };
}

export function formatState(state: State): string {
  const { view, range, zone, compare, sort } = state;
  const preset = 'preset' in range && range.preset !== DEFAULT_RANGE ? range.preset : null;
  const values: Record<string, string | number | null> = {
    view: view === 'overview' ? null : view,
    app: state.app,
    range: preset,
    from: 'from' in range ? toIso(range.from) : null,
    to: 'to' in range ? toIso(range.to) : null,
    zone: zone === 'local' ? null : zone,
    compare: compare === 'before' ? null : compare,
    interval: state.interval,
    env: state.env,
    consumer: state.consumer,
    method: state.method,
    path: state.path,
    status: state.status,
    url: state.url,
    slower: state.slower,
    larger: state.larger,
    client: state.client,
    exception: state.exception,
    id: state.id,
    sort: sort === 'requests' ? null : sort,
    chart: state.isTable ? 'table' : null,
    changed: state.changed,
    release: state.release,
    columns: state.columns?.join(',') ?? null,
    tail: state.isTail ? 'on' : null,
    request: state.request,
    tab: state.tab,
    error: state.error,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== null) query.set(name, String(value));
  const text = query.toString().replaceAll('%2F', '/').replaceAll('%2C', ',').replaceAll('%3A', ':');
  return HERE + text;
}

/** Changes the state, with a new entry in the history or by replacing the current one. */
export type Go = (patch: Partial<State>, how?: 'push' | 'replace') => void;

export function useUrlState(): [State, Go] {
  const [state, setState] = useState(() => parseState(location.search));
  useEffect(() => {
    const read = () => setState(parseState(location.search));
    // A link to another state needs no new page; with a modifier key it opens one as usual.
    const follow = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a') : null;
      const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
      if (!isPlain || event.defaultPrevented || !link?.getAttribute('href')?.startsWith(HERE)) return;
      event.preventDefault();
      history.pushState(null, '', link.href);
      read();
    };
    addEventListener('popstate', read);
    document.addEventListener('click', follow);
    return () => {
      removeEventListener('popstate', read);
      document.removeEventListener('click', follow);
    };
  }, []);
  const go = useCallback<Go>((patch, how = 'push') => {
    const old = parseState(location.search);
    const next = { ...old, ...patch };
    const url = formatState(next);
    if (url === formatState(old)) return;
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', url);
    setState(next);
  }, []);
  return [state, go];
}
