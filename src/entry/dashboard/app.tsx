import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Api, type ApiFailure, type App } from './api.js';
import { Alerts } from './alerts.js';
import { useAlerts } from './alerts-data.js';
import { Apps } from './apps.js';
import { EmptyApp, NoApps } from './empty.js';
import { Errors } from './errors.js';
import { Filters } from './filters.js';
import { Header } from './header.js';
import { Instances } from './instances.js';
import { Inventory } from './inventory.js';
import { Overview } from './overview.js';
import { preloadSeries } from './overview-data.js';
import { Problem } from './problem.js';
import { Requests } from './requests.js';
import { type Session, SessionContext, toFailure, useWhileVisible } from './session.js';
import { SignIn, explainKey } from './sign-in.js';
import { type State, useUrlState } from './state.js';
import { isKeyKept, onKeyRemoved, readStoredKey, removeStoredKey, storeKey } from './stored-key.js';

/** The views of an app with data. */
const VIEWS = {
  overview: Overview,
  requests: Requests,
  errors: Errors,
  inventory: Inventory,
  instances: Instances,
  alerts: Alerts,
};
const TITLES = {
  apps: null,
  overview: 'Overview',
  requests: 'Requests',
  errors: 'Errors',
  inventory: 'Inventory',
  instances: 'Instances',
  alerts: 'Alerts',
};
/** The views whose data are filtered. */
const FILTERED = ['overview', 'requests', 'errors'];

/** How often a team without data is requested again. */
const FIRST_DATA_MS = 10_000;

/** The key screen, or the page with the key of this tab. */
export function Page() {
  const [api, setApi] = useState<Api | null>(() => {
    const key = readStoredKey();
    return key === null ? null : new Api(key);
  });
  const [message, setMessage] = useState<string | null>(null);
  const end = useCallback(
    (reason: string | null) => {
      api?.end();
      removeStoredKey();
      setMessage(reason);
      setApi(null);
    },
    [api],
  );
  useEffect(() => {
    if (!api || !isKeyKept()) return undefined;
    return onKeyRemoved(() => end(null));
  }, [api, end]);
  if (api) return <Dashboard api={api} end={end} />;
  return (
    <SignIn
      message={message}
      onKey={(key, isKept, checked) => {
        storeKey(key, isKept);
        setMessage(null);
        setApi(checked);
      }}
    />
  );
}

function Dashboard({ api, end }: { api: Api; end: (reason: string | null) => void }) {
  const [state, go] = useUrlState();
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
  const apps = useApps(api, state, retries, fail);
  hasWorked.current = apps !== null;
  useEffect(() => {
    if (problem?.status !== 0) return undefined;
    addEventListener('online', retry);
    return () => removeEventListener('online', retry);
  }, [problem, retry]);

  const app = findApp(apps, state);
  const view = chooseView(state, apps);
  useEffect(() => {
    const name = TITLES[view];
    document.title = app && name !== null ? `${name} · ${app.name.slice(0, 80)}` : 'Request Analytics';
  }, [view, app]);
  const hasData = app !== undefined && app.envs.length > 0;
  const alerts = useAlerts(api, hasData && view !== 'apps' ? app.id : null, { retries, fail });
  const session: Session | null = apps && app ? { api, apps, app, state, go, alerts, retries, fail } : null;
  const View = view === 'apps' ? Apps : hasData ? VIEWS[view] : EmptyApp;
  return (
    <SessionContext.Provider value={session}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header
        state={state}
        view={view}
        go={go}
        app={app}
        apps={apps}
        alerts={alerts.value?.data ?? []}
        api={api}
        end={end}
        refresh={() => {
          api.forget();
          retry();
        }}
      />
      {session && hasData && FILTERED.includes(view) && <Filters />}
      {session ? (
        <View key={app?.id} />
      ) : apps ? (
        <NoApp apps={apps} api={api} />
      ) : (
        <main id="main" class="loading" aria-busy="true">
          <span class="panel placeholder tall" />
          <span class="panel placeholder tall" />
        </main>
      )}
      {problem && (
        <Problem failure={problem} hasData={apps !== null} retry={retry} close={() => setProblem(null)} />
      )}
    </SessionContext.Provider>
  );
}

/** The apps of the key, loaded again while the shown one has no data; null until they are loaded. */
function useApps(api: Api, state: State, retries: number, fail: Session['fail']): App[] | null {
  const [apps, setApps] = useState<App[] | null>(null);
  const load = (use: (apps: App[]) => void) => {
    api.apps().then(
      ({ data }) => use(data.data),
      (error: unknown) => fail(toFailure(error)),
    );
  };
  // Before the first frame.
  useLayoutEffect(() => {
    if (apps) return;
    const isOverview = state.view === 'overview';
    // Loads the list of apps and the chart's data at the same time if the address names the app.
    if (isOverview && state.app !== null) preloadSeries(api, state.app, state);
    load((loaded) => {
      const [first, another] = loaded;
      if (isOverview && state.app === null && first && !another && first.envs.length > 0)
        preloadSeries(api, first.id, state);
      setApps(loaded);
    });
  }, [api, apps, retries, fail]);
  const hasNoData = apps !== null && (apps.length === 0 || findApp(apps, state)?.envs.length === 0);
  useWhileVisible(FIRST_DATA_MS, hasNoData, () => {
    api.forgetRunning();
    load(setApps);
  });
  return apps;
}

/** A team with several apps begins with all of them. */
function chooseView({ view, app }: State, apps: App[] | null): State['view'] {
  return view === 'overview' && app === null && apps !== null && apps.length > 1 ? 'apps' : view;
}

/** The app of the address; the first app if it names none. */
function findApp(apps: App[] | null, { app }: State): App | undefined {
  return app === null ? apps?.[0] : apps?.find(({ id }) => id === app);
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
