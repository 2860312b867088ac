import { useRef } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { Alert, Api, App } from './api.js';
import { formatNumber } from './format.js';
import { useKeys } from './keys.js';
import { Firing, Popover, Text, readMeta } from './parts.js';
import { RangePicker } from './range-picker.js';
import { linkTo, useTeam } from './session.js';
import { type Go, NOTHING_OPEN, NO_FILTERS, type State } from './state.js';
import { WORDS } from './words.js';

export function Header(props: {
  state: State;
  /** The view that is shown. */
  view: State['view'];
  go: Go;
  app: App | undefined;
  apps: App[] | null;
  alerts: readonly Alert[];
  api: Api;
  end: (reason: string | null) => void;
  /** Requests everything on the page again, including complete periods. */
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
  const hasSeveral = apps !== null && apps.length > 1;
  const firing = props.alerts.filter((alert) => alert.state === 'firing').length;
  const isOfApp = props.view !== 'apps';
  const view = (name: State['view'], label: ComponentChildren) => (
    <a
      href={linkTo(state, {
        view: name,
        // Without an app, the address means all of them.
        app: name === 'apps' ? null : hasSeveral ? (app?.id ?? state.app) : state.app,
        ...NOTHING_OPEN,
      })}
      aria-current={props.view === name ? 'page' : undefined}
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
        onChange={({ currentTarget: { value } }) =>
          go({
            ...NO_FILTERS,
            ...NOTHING_OPEN,
            app: value === '' ? null : Number(value),
            view: value === '' ? 'apps' : isOfApp ? state.view : 'overview',
          })
        }
      >
        {!app && <option>…</option>}
        {hasSeveral && (
          <option value="" selected={!isOfApp}>
            All apps
          </option>
        )}
        {apps?.map(({ id, name }) => (
          <option key={id} value={id} selected={isOfApp && id === app?.id}>
            {name.slice(0, 100)}
          </option>
        ))}
      </select>
      <select
        class="control"
        aria-label="Environment"
        disabled={!isOfApp || !app || app.envs.length === 0}
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
        {hasSeveral && view('apps', 'Apps')}
        {view('overview', 'Overview')}
        {view('requests', 'Requests')}
        {view('errors', 'Errors')}
        {view('inventory', 'Inventory')}
        {view('instances', 'Instances')}
        {view(
          'alerts',
          <>
            Alerts <Firing count={firing} />
          </>,
        )}
      </nav>
      <div class="right">
        {app && (app.envs.length > 0 || !isOfApp) && (
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
        <Popover label="Account" class="control">
          <Account api={api} end={props.end} help={() => help.current?.showModal()} />
        </Popover>
      </div>
      <Help dialog={help} />
    </header>
  );
}

function Account(props: { api: Api; end: (reason: string | null) => void; help: () => void }) {
  const { api, end, help } = props;
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
      <div class="buttons">
        <button type="button" class="small" onClick={help}>
          Help
        </button>
        <button type="button" class="small" onClick={() => end(null)}>
          Sign out
        </button>
      </div>
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

const HELP = [
  ['p50', WORDS.p50],
  ['p95', WORDS.p95],
  ['Apdex', WORDS.apdex],
  ['Error rate', WORDS.errorRate],
  ['4xx, 5xx', `${WORDS.clientErrors} ${WORDS.serverErrors}`],
  ['No route', WORDS.noRoute],
  [
    '▲ ▼',
    'The change from the period before, or from the same days of last week: the time range has the choice.',
  ],
] as const;

function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }) {
  const hasDocs = readMeta('docs') === 'on';
  return (
    <dialog ref={dialog} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Help</h2>
        <h3>Words</h3>
        <dl class="words">
          {HELP.map(([word, meaning]) => (
            <div key={word}>
              <dt>{word}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <h3>Keyboard</h3>
        <dl class="keys">
          {KEYS.map(([key, description]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{description}</dd>
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
