import { createContext } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  type Alert,
  type Api,
  ApiFailure,
  type App,
  type Consumer,
  type ExportQuery,
  type Loaded,
  type Team,
} from './api.js';
import {
  type Go,
  NO_FILTERS,
  NO_SEARCH,
  STATUS,
  type State,
  UUID,
  formatState,
  toExactPath,
} from './state.js';
import { type Window, getWindow } from './time.js';

/** The shared context of all views: the API with the key, the state, and the handling of failed loads. */
export interface Session {
  api: Api;
  apps: App[];
  app: App;
  state: State;
  go: Go;
  /** Of the app; null: the scopes of the key leave them out. */
  alerts: Load<Loaded<Alert[]> | null>;
  /** Grows when failed loads are to be repeated. */
  retries: number;
  fail: (failure: ApiFailure) => void;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('There is no session.');
  return session;
}

/** The filtered environment; undefined if none is, or the app has none of this name. */
export function findEnv({ app, state }: Pick<Session, 'app' | 'state'>): App['envs'][number] | undefined {
  return app.envs.find(({ name }) => name === state.env);
}

/** The address of the state with some members changed. */
export function linkTo(state: State, patch: Partial<State>): string {
  return formatState({ ...state, ...patch });
}

export interface Load<Value> {
  /**
   * The value of the latest successful load, while a newer one runs; after a failure only if the subject is
   * the same.
   */
  value: Value | undefined;
  isLoading: boolean;
  failure: ApiFailure | undefined;
}

/**
 * Loads on each change of `id`. A failure is reported to the session, and the load is repeated when the
 * session says so.
 *
 * @param id names the loaded data; null: nothing
 * @param subject its name on the page, such as "Last 24 hours"; several `id`s share it while the time moves
 * on
 */
export function useLoad<Value>(id: string | null, load: () => Promise<Value>, subject = id): Load<Value> {
  return useLoadOf(useSession(), id, load, subject);
}

/** The same for what makes the session. */
export function useLoadOf<Value>(
  { retries, fail }: Pick<Session, 'retries' | 'fail'>,
  id: string | null,
  load: () => Promise<Value>,
  subject: string | null,
): Load<Value> {
  const [result, setResult] = useState<Load<Value> & { id: string | null }>({
    id: null,
    value: undefined,
    isLoading: false,
    failure: undefined,
  });
  const loading = useRef(load);
  loading.current = load;
  const loadedSubject = useRef<string | null>(null);
  useEffect(() => {
    if (id === null) return undefined;
    let isCurrent = true;
    setResult(({ value }) => ({ id, value, isLoading: true, failure: undefined }));
    loading.current().then(
      (value) => {
        if (!isCurrent) return;
        loadedSubject.current = subject;
        setResult({ id, value, isLoading: false, failure: undefined });
      },
      (error: unknown) => {
        if (!isCurrent) return;
        const failure = toFailure(error);
        const isSame = loadedSubject.current === subject;
        setResult(({ value }) => ({ id, value: isSame ? value : undefined, isLoading: false, failure }));
        fail(failure);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [id, retries, fail]);
  const { value, failure } = result;
  // A load begins in an effect: until then its data is on the way as well.
  return { value, failure, isLoading: id !== null && (result.isLoading || result.id !== id) };
}

/** The team of the key; undefined until it is loaded. */
export function useTeam(api: Api): Team | undefined {
  const [team, setTeam] = useState<Team>();
  useEffect(() => {
    api.team().then(
      ({ data }) => setTeam(data),
      () => undefined,
    );
  }, [api]);
  return team;
}

/** A key whose scopes leave out names or comparisons may still read the figures. */
export function withoutScope(error: unknown): null {
  if (error instanceof ApiFailure && error.isOfScopes) return null;
  throw error;
}

/**
 * Largest number of pages of a thousand consumers that are requested: by default a key has a hundred requests
 * a minute.
 */
const MAX_PAGES = 10;

/**
 * The consumers that made requests since a time, by ID; undefined while they load. Loads the first page, with
 * the newest consumers, and further pages while a wanted consumer is missing.
 */
export function useConsumers(
  since: string | null,
  wanted: readonly number[] = [],
): ReadonlyMap<number, Consumer> | undefined {
  const { api, app } = useSession();
  // Rounded to the hour, so that a moving window does not request them again.
  const hour = since?.replace(/T(\d\d).*/, 'T$1:00Z') ?? null;
  const { value, failure } = useLoad(
    hour === null ? null : `names ${app.id} ${hour} ${wanted.join()}`,
    () => loadConsumers(api, app.id, hour ?? '', wanted).catch(withoutScope),
    `names ${app.id}`,
  );
  return useMemo(
    () =>
      value !== undefined || failure ? new Map(value?.map((consumer) => [consumer.id, consumer])) : undefined,
    [value, failure],
  );
}

async function loadConsumers(api: Api, appId: number, since: string, wanted: readonly number[]) {
  const consumers: Consumer[] = [];
  const missing = new Set(wanted);
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { data } = await api.consumers(appId, since, token);
    consumers.push(...data.data);
    for (const { id } of data.data) missing.delete(id);
    token = data.next_token;
    if (token === undefined || missing.size === 0) break;
  }
  return consumers;
}

export function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  return new ApiFailure(0, 'The response could not be read.', Date.now() + 10_000, false, false);
}

/** What a click on a row does; links with a modifier key, and a selection of text, stay what they are. */
export function onPlainClick(open: () => void) {
  return (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || getSelection()?.toString()) return;
    event.preventDefault();
    open();
  };
}

/** Calls at an interval while the tab is visible; at once when it becomes visible again. */
export function useWhileVisible(everyMs: number, isOn: boolean, call: () => void) {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!isOn) return undefined;
    let calledAt = Date.now();
    const check = () => {
      if (document.visibilityState !== 'visible' || Date.now() - calledAt < everyMs) return;
      calledAt = Date.now();
      latest.current();
    };
    const clock = setInterval(check, Math.min(everyMs, 1000));
    document.addEventListener('visibilitychange', check);
    return () => {
      clearInterval(clock);
      document.removeEventListener('visibilitychange', check);
    };
  }, [everyMs, isOn]);
}

/** The window of the state, fixed until the range changes or `key` does. */
export function useWindow(state: State, key: unknown): Window {
  const { range, zone, interval, compare } = state;
  const id = JSON.stringify([range, zone, interval, compare, key]);
  const fixed = useRef<{ id: string; window: Window } | undefined>(undefined);
  if (fixed.current?.id !== id) fixed.current = { id, window: getWindow(range, zone, Date.now(), state) };
  return fixed.current.window;
}

export const REFRESH_MS = 60_000;

/** The window of the state, which moves on each minute while the tab is visible, and how often it did. */
export function useLiveWindow(): { window: Window; refreshes: number } {
  const { api, state, retries } = useSession();
  const [refreshes, setRefreshes] = useState(0);
  const window = useWindow(state, [refreshes, retries]);
  useWhileVisible(REFRESH_MS, window.isLive, () => {
    api.forgetRunning();
    setRefreshes((count) => count + 1);
  });
  return { window, refreshes };
}

/** Codes from 100 to 999 of `5xx,404`; classes become all of their codes. */
function listCodes(status: string): number[] {
  return status.split(',').flatMap((item) => {
    const [first = ''] = item;
    if (/^[1-9]xx$/.test(item)) return Array.from({ length: 100 }, (_, index) => Number(first) * 100 + index);
    return /^\d{3}$/.test(item) ? [Number(item)] : [];
  });
}

type Filter =
  | { field: 'env' | 'method' | 'path'; op: 'eq' | 'in' | 'like'; value: string | string[] }
  | { field: 'consumer_id'; op: 'eq'; value: number }
  | { field: 'status_code'; op: 'gte' | 'lt' | 'in'; value: number | number[] };

/** A path pattern in the syntax of the operator `like`. */
function toLike(pattern: string): string {
  return pattern.replaceAll(/\\([\\*])|[\\%_*]/g, (found, escaped?: string) =>
    found === '*' ? '%' : escaped === '*' ? '*' : `\\${escaped ?? found}`,
  );
}

/** The filters of the state that counts have as well. */
export function listFilters({ env, consumer, method, path, status }: State): Filter[] {
  const filters: Filter[] = [];
  if (env !== null) filters.push({ field: 'env', op: 'eq', value: env });
  if (consumer !== null) filters.push({ field: 'consumer_id', op: 'eq', value: consumer });
  if (method !== null) filters.push({ field: 'method', op: 'in', value: method.toUpperCase().split(',') });
  if (path !== null) {
    const exact = toExactPath(path);
    if (exact === null) filters.push({ field: 'path', op: 'like', value: toLike(path) });
    else filters.push({ field: 'path', op: 'eq', value: exact });
  }
  const [, first] = /^([1-9])xx$/.exec(status ?? '') ?? [];
  if (first !== undefined)
    filters.push(
      { field: 'status_code', op: 'gte', value: Number(first) * 100 },
      { field: 'status_code', op: 'lt', value: Number(first) * 100 + 100 },
    );
  else if (status !== null) filters.push({ field: 'status_code', op: 'in', value: listCodes(status) });
  return filters;
}

/** The filters of the state that errors have as well. */
export function listErrorFilters(state: State) {
  return listFilters(state).filter((filter) => filter.field !== 'status_code');
}

/** All filters of the state, for request logs. */
export function listLogFilters(state: State) {
  const { url, slower, larger, client, exception, id } = state;
  const filters: NonNullable<ExportQuery['filters']> = [...listFilters(state)];
  if (url !== null) filters.push({ field: 'url', op: 'contains', value: url });
  if (slower !== null) filters.push({ field: 'response_time_ms', op: 'gte', value: slower });
  if (larger !== null) filters.push({ field: 'response_size_bytes', op: 'gte', value: larger });
  if (client !== null) filters.push({ field: 'client_ip', op: 'contains', value: client });
  if (exception !== null) filters.push({ field: 'exception_type', op: 'contains', value: exception });
  if (id !== null) filters.push({ field: 'request_uuid', op: 'eq', value: UUID.test(id) ? id : NO_UUID });
  return filters;
}

/** No request has it. */
const NO_UUID = '00000000-0000-0000-0000-000000000000';

/** Whether a filter is set that only request logs have. */
export function hasSearch(state: State): boolean {
  return hasAny(state, NO_SEARCH);
}

export function hasFilters(state: State): boolean {
  return hasAny(state, NO_FILTERS);
}

function hasAny(state: State, names: Partial<typeof NO_FILTERS>): boolean {
  return Object.keys(names).some((name) => state[name as keyof typeof NO_FILTERS] !== null);
}

/** Whether the status of the address is none: then nothing matches it. */
export function hasWrongStatus({ status }: State): boolean {
  return status !== null && !STATUS.test(status);
}

export function sayNothing(state: State): string {
  return `No requests ${hasFilters(state) ? 'match the filters ' : ''}in this time.`;
}
