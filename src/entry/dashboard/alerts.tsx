import { useState } from 'preact/hooks';
import { formatLimit, formatMeasured, spanOf } from './alerts-data.js';
import type { Alert } from './api.js';
import { EmptyRows, ShowMore } from './more-rows.js';
import { Panel, Text } from './parts.js';
import { linkTo, useSession } from './session.js';
import { MORE_ROWS, ROWS } from './sort-rows.js';
import { NOTHING_OPEN, NO_FILTERS, type State } from './state.js';
import { formatMinute } from './time.js';
import { WORDS } from './words.js';

/** The states in the order of the list, each with the class of its form and colour. */
const STATES: Record<Alert['state'], { name: string; form: string; meaning: string }> = {
  firing: { name: 'firing', form: 's5', meaning: WORDS.firing },
  muted: { name: 'muted', form: 's5', meaning: WORDS.muted },
  pending: { name: 'pending', form: 's4', meaning: WORDS.pending },
  no_data: { name: 'no data', form: 's0', meaning: WORDS.noData },
  ok: { name: 'ok', form: 's2', meaning: WORDS.ok },
};
const ORDER = Object.keys(STATES);
const COLUMNS = ['State', 'Alert', 'Since', 'Value', 'Limit', 'Severity', 'Tells', 'Last states'];

/** The rules of the app with their states: those that fire come first. */
export function Alerts() {
  const { app, alerts } = useSession();
  const [count, setCount] = useState(MORE_ROWS);
  const { value, isLoading } = alerts;
  const rows =
    value === null ? [] : value?.data.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  const firing = rows?.filter(({ state }) => state === 'firing').length ?? 0;
  return (
    <main class="overview" id="main">
      <h1 class="visually-hidden">Alerts of {app.name}</h1>
      <Panel
        title="Alerts"
        curl={value?.curl}
        isBusy={isLoading}
        class="alerts"
        actions={
          <span class="muted count" role="status">
            {rows && rows.length > 0 && `${firing} of ${rows.length} firing`}
          </span>
        }
      >
        {rows?.length === 0 ? (
          <p class="nothing">
            {value === null ? (
              'This key may not read alerts: its scopes leave out listAlerts.'
            ) : (
              <>
                No rule of an alert that this key may read. An operator makes one with{' '}
                <code>
                  request-analytics alert create --app {app.id} --preset errors --email you@example.com
                </code>
                ; a key of one consumer reads none.
              </>
            )}
          </p>
        ) : (
          <div class="scroll" tabIndex={0} role="region" aria-label="List of alerts">
            <table>
              <thead>
                <tr>
                  {COLUMNS.map((name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows?.slice(0, count).map((alert) => (
                  <Row key={alert.name} alert={alert} />
                ))}
                {!rows && <EmptyRows length={ROWS} rows={rows} columns={COLUMNS.length} nothing="" />}
              </tbody>
            </table>
          </div>
        )}
        <footer>
          <ShowMore rows={rows} count={count} setCount={setCount} />
        </footer>
      </Panel>
    </main>
  );
}

function Row({ alert }: { alert: Alert }) {
  const { state } = useSession();
  const { name, condition, severity, receivers, muted_until, history } = alert;
  return (
    <tr>
      <td>
        <AlertState of={alert.state} />
        {muted_until !== null && (
          <span class="clip muted">muted until {formatMinute(Date.parse(muted_until), state.zone)}</span>
        )}
      </td>
      <th scope="row">
        <strong>
          <Text max={100}>{name}</Text>
        </strong>
        <span class="clip muted" title={condition}>
          <Text>{condition}</Text>
        </span>
      </th>
      <td>{history.length === 0 ? 'not evaluated yet' : <Since alert={alert} index={0} />}</td>
      <td>{formatMeasured(alert, alert.value)}</td>
      <td>{formatLimit(alert)}</td>
      <td>{severity}</td>
      <td>{receivers.join(', ') || 'nobody'}</td>
      <td>
        {history.length > 0 && (
          <details>
            <summary>
              {history.length}
              <span class="visually-hidden">
                {' '}
                of <Text max={100}>{name}</Text>
              </span>
            </summary>
            <ol>
              {history.map((change, index) => (
                <li key={change.since}>
                  <AlertState of={change.state} /> <Since alert={alert} index={index} />{' '}
                  <span class="muted">{formatMeasured(alert, change.value)}</span>
                </li>
              ))}
            </ol>
          </details>
        )}
      </td>
    </tr>
  );
}

function AlertState({ of }: { of: Alert['state'] }) {
  const { name, form, meaning } = STATES[of];
  return (
    <span class={`status ${form}`} title={meaning}>
      {name}
    </span>
  );
}

/** When a state began. Of one in which the rule is broken, it opens the window in the chart. */
function Since({ alert, index }: { alert: Alert; index: number }) {
  const { state } = useSession();
  const { state: its, since } = alert.history[index] ?? {};
  if (its === undefined || since === undefined) return null;
  const time = <time dateTime={since}>{formatMinute(Date.parse(since), state.zone)}</time>;
  if (its === 'ok' || its === 'no_data') return time;
  return <a href={linkTo(state, findWindow(alert, index))}>{time}</a>;
}

/** The window of a state with the filters that the rule and the page have, as in messages of alerts. */
function findWindow(alert: Alert, index: number): Partial<State> {
  const { metric, env = null, method, path, status = null } = alert.rule;
  return {
    ...NO_FILTERS,
    ...NOTHING_OPEN,
    view: metric === 'new_errors' ? 'errors' : 'overview',
    range: spanOf(alert, index),
    interval: null,
    env,
    method: method?.toUpperCase() ?? null,
    // A rule has no escapes.
    path: path?.replaceAll('\\', '\\\\') ?? null,
    status,
  };
}
