import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Api, ApiFailure, type App } from './api.js';
import { ClosedPeriods, PLACE } from './closed-periods.js';
import { EmptyApp, NoApps } from './empty.js';
import { Filters, RangePicker } from './filters.js';
import { formatNumber } from './format.js';
import { useKeys } from './keys.js';
import { Overview, preloadSeries } from './overview.js';
import { Popover, Text, readMeta } from './parts.js';
import { Requests } from './requests.js';
import { type Session, SessionContext, linkTo, toFailure, useTeam, useWhileVisible } from './session.js';
import { Countdown, SignIn, explainKey } from './sign-in.js';
import { type Go, NO_FILTERS, type State, useUrlState } from './state.js';

/** How often a team without data is asked for again. */
const FIRST_DATA_MS = 10_000;

const STORED_KEY = `${PLACE}api-key`;

/** For this tab, until it is closed. What another key has seen goes. */
export function storeKey(key: string) {
  if (sessionStorage.getItem(STORED_KEY) !== key) new ClosedPeriods().clear();
  sessionStorage.setItem(STORED_KEY, key);
}

/** The key screen, or the page with the key of this tab. */
export function Page() {
  const [api, setApi] = useState<Api | null>(() => {
    const key = sessionStorage.getItem(STORED_KEY);
    return key === null ? null : new Api(key);
  });
  const [message, setMessage] = useState<string | null>(null);
  const end = useCallback(
    (why: string | null) => {
      api?.end();
      sessionStorage.removeItem(STORED_KEY);
      setMessage(why);
      setApi(null);
    },
    [api],
  );
  if (api) return <Dashboard api={api} end={end} />;
  return (
    <SignIn
      message={message}
      onKey={(key, checked) => {
        storeKey(key);
        setMessage(null);
        setApi(checked);
      }}
    />
  );
}

function Dashboard({ api, end }: { api: Api; end: (why: string | null) => void }) {
  const [state, go] = useUrlState();
  const [apps, setApps] = useState<App[] | null>(null);
  const [problem, setProblem] = useState<ApiFailure | null>(null);
  const [retries, setRetries] = useState(0);
  const hasWorked = useRef(false);

  const fail = useCallback(
    (failure: ApiFailure) => {
      const isOfPart = failure.isOfScopes && hasWorked.current;
      if (failure.status === 401 || (failure.status === 403 && !isOfPart))
        end(explainKey(failure, hasWorked.current));
      else if (failure.status !== 404) setProblem(failure);
    },
    [end],
  );
  const retry = useCallback(() => {
    setProblem(null);
    setRetries((count) => count + 1);
  }, []);
  // Before the first frame.
  useLayoutEffect(() => {
    if (apps) return;
    const isOverview = state.view === 'overview';
    // The list of apps and the chart's data at the same time, where the address has the app.
    if (isOverview && state.app !== null) preloadSeries(api, state.app, state);
    api.apps().then(
      ({ data }) => {
        hasWorked.current = true;
        const [first] = data.data;
        if (isOverview && state.app === null && first && first.envs.length > 0)
          preloadSeries(api, first.id, state);
        setApps(data.data);
      },
      (error: unknown) => fail(toFailure(error)),
    );
  }, [api, apps, retries, fail]);
  useEffect(() => {
    if (problem?.status !== 0) return undefined;
    addEventListener('online', retry);
    return () => removeEventListener('online', retry);
  }, [problem, retry]);

  const app = apps?.find(({ id }) => id === state.app) ?? (state.app === null ? apps?.[0] : undefined);
  useEffect(() => {
    const view = state.view === 'overview' ? 'Overview' : 'Requests';
    document.title = app ? `${view} · ${app.name.slice(0, 80)}` : 'Request Analytics';
  }, [state.view, app]);
  const hasNoData = apps !== null && (apps.length === 0 || app?.envs.length === 0);
  useWhileVisible(FIRST_DATA_MS, hasNoData, () => {
    api.forgetRunning();
    api.apps().then(
      ({ data }) => setApps(data.data),
      (error: unknown) => fail(toFailure(error)),
    );
  });
  const session = useMemo<Session | null>(
    () => (apps && app ? { api, apps, app, state, go, retries, fail } : null),
    [api, apps, app, state, go, retries, fail],
  );
  const View = app?.envs.length === 0 ? EmptyApp : state.view === 'overview' ? Overview : Requests;
  return (
    <SessionContext.Provider value={session}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header
        state={state}
        go={go}
        app={app}
        apps={apps}
        api={api}
        end={end}
        refresh={() => {
          api.forget();
          retry();
        }}
      />
      {session && app && app.envs.length > 0 && <Filters />}
      {session ? (
        <View key={app?.id} />
      ) : apps ? (
        <NoApp apps={apps} api={api} />
      ) : (
        <main id="main" class="loading" aria-busy="true" />
      )}
      {problem && <Problem failure={problem} retry={retry} close={() => setProblem(null)} />}
    </SessionContext.Provider>
  );
}

function NoApp({ apps, api }: { apps: App[]; api: Api }) {
  if (apps.length === 0) return <NoApps api={api} />;
  return (
    <main class="empty-state" id="main">
      <h1>There is no such app</h1>
      <p>It does not exist, or it belongs to another team than your key. Choose one above.</p>
    </main>
  );
}

/** What went wrong, and when the page tries again. */
function Problem(props: { failure: ApiFailure; retry: () => void; close: () => void }) {
  const { failure, retry, close } = props;
  const { status, message, retryAt } = failure;
  const texts: Record<number, string> = {
    0: message,
    429: 'The key has used up its requests of this minute. What was loaded stays.',
    503: 'The service is temporarily unavailable. What was loaded stays.',
    504: 'The query took too long. A shorter time or a filter helps.',
    500: 'The service failed. Its log has the reason.',
  };
  const text = texts[status] ?? (status >= 500 ? texts[503] : `The service refused the request: ${message}`);
  const isRepeated = [0, 429, 503].includes(status);
  return (
    <div class="problem">
      <p role="alert">{text}</p>
      {isRepeated && (
        <p class="muted">
          Next try in <Countdown key={retryAt} until={retryAt} onEnd={retry} />
        </p>
      )}
      {failure.isOfScopes ? (
        <button type="button" class="small" onClick={close}>
          Close
        </button>
      ) : (
        <button type="button" class="small" onClick={retry}>
          Try now
        </button>
      )}
    </div>
  );
}

function Header(props: {
  state: State;
  go: Go;
  app: App | undefined;
  apps: App[] | null;
  api: Api;
  end: (why: string | null) => void;
  /** Asks for all that is shown again, also for complete periods. */
  refresh: () => void;
}) {
  const { state, go, app, apps, api } = props;
  const help = useRef<HTMLDialogElement>(null);
  useKeys((key) => {
    if (key === '?') help.current?.showModal();
    else if (key === '/') document.getElementById('path-filter')?.focus();
    else return false;
    return true;
  });
  const view = (name: State['view'], label: string) => (
    <a
      href={linkTo(state, { view: name, request: null, tab: null })}
      aria-current={state.view === name ? 'page' : undefined}
    >
      {label}
    </a>
  );
  return (
    <header class="top-bar">
      <span class="brand">
        <i class="logo" aria-hidden="true" />
        <span class="visually-hidden">Request Analytics</span>
      </span>
      <select
        class="control app-picker"
        aria-label="App"
        disabled={!apps || apps.length === 0}
        onChange={(event) =>
          go({ ...NO_FILTERS, app: Number(event.currentTarget.value), request: null, tab: null })
        }
      >
        {!app && <option>…</option>}
        {apps?.map(({ id, name }) => (
          <option key={id} value={id} selected={id === app?.id}>
            {name.slice(0, 100)}
          </option>
        ))}
      </select>
      <select
        class="control"
        aria-label="Environment"
        disabled={!app || app.envs.length === 0}
        onChange={(event) => go({ env: event.currentTarget.value || null })}
      >
        <option value="" selected={state.env === null}>
          All environments
        </option>
        {app?.envs.map(({ id, name }) => (
          <option key={id} value={name} selected={name === state.env}>
            {name.slice(0, 100)}
          </option>
        ))}
      </select>
      <nav aria-label="Views">
        {view('overview', 'Overview')}
        {view('requests', 'Requests')}
      </nav>
      <div class="right">
        {app && app.envs.length > 0 && (
          <>
            <RangePicker />
            <button
              type="button"
              class="control icon refresh"
              aria-label="Refresh"
              title="Refresh"
              onClick={props.refresh}
            >
              <svg viewBox="0 0 16 16" aria-hidden="true">
                <path d="M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3" />
              </svg>
            </button>
          </>
        )}
        <button
          type="button"
          class="control icon help"
          aria-label="Help"
          aria-keyshortcuts="?"
          onClick={() => help.current?.showModal()}
        >
          ?
        </button>
        {apps && (
          <Popover label="Key" class="control">
            <KeyBox api={api} end={props.end} />
          </Popover>
        )}
      </div>
      <Help dialog={help} />
    </header>
  );
}

function KeyBox({ api, end }: { api: Api; end: (why: string | null) => void }) {
  const team = useTeam(api);
  const limit = api.rateLimit;
  return (
    <div class="key-box">
      <p>
        <span class="muted">Team</span> {team ? <Text>{team.name}</Text> : '…'}
      </p>
      {limit && (
        <p>
          <span class="muted">Requests left in this minute</span> {formatNumber(limit.remaining)} of{' '}
          {formatNumber(limit.limit)}
        </p>
      )}
      <button type="button" class="small" onClick={() => end(null)}>
        Forget the key
      </button>
    </div>
  );
}

const KEYS = [
  ['/', 'Filter by path'],
  ['j, k', 'Next and previous request'],
  ['Enter', 'Open the request'],
  ['Esc', 'Close it'],
  ['← →', 'Periods of the chart; with Shift select, Enter zooms'],
  ['?', 'This help'],
] as const;

function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }) {
  const hasDocs = readMeta('docs') === 'on';
  return (
    <dialog ref={dialog} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        <dl class="keys">
          {KEYS.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <p>
          The address of the page has all that it shows: send it to a colleague. The button API on each panel
          shows the request behind it.
        </p>
        {hasDocs && (
          <p>
            <a href="./docs">Reference of the API</a>
          </p>
        )}
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

/** Takes the key of a link such as `/#key=…` out of the address before anything else runs. */
export function takeKeyFromFragment(): string | null {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key !== null) history.replaceState(null, '', location.pathname + location.search);
  return key;
}
