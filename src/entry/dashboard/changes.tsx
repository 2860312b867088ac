import type { ChangedGroup, ChangesQuery, Consumer, ExplainedChange } from './api.js';
import { Delta } from './delta.js';
import { formatMs, formatNumber, formatShare } from './format.js';
import { GroupName } from './group-name.js';
import { Panel } from './parts.js';
import { useNewestReleases } from './releases.js';
import { listFilters, useConsumers, useLoad, useSession } from './session.js';
import { MEASURES, type State } from './state.js';
import { type Window, formatTime, formatWindow, toIso } from './time.js';

/** Groups of each dimension. */
const SHOWN = 5;
const TITLES = { endpoint: 'Endpoints', consumer: 'Consumers', status: 'Statuses' } as const;

/**
 * What changed a measure, since the period before or since a release: the endpoints, consumers and statuses
 * with the largest shares.
 */
export function Changes({ window, measure }: { window: Window; measure: NonNullable<State['changed']> }) {
  const { api, app, state, go } = useSession();
  const { from, before } = window;
  const { release } = state;
  const releases = useNewestReleases();
  const filters = listFilters(state);
  const windows = release === null ? before && listWindows(window, before) : { since_release: release };
  const query: ChangesQuery | null = windows && {
    measure,
    ...windows,
    ...(filters.length > 0 && { filters }),
    limit: SHOWN,
  };
  const { value, isLoading, failure } = useLoad(
    query && `changes ${app.id} ${JSON.stringify(query)}`,
    async () => query && (await api.changes(app.id, query)),
  );
  const change = value?.data;
  const ids = change?.data.flatMap(({ consumer_id }) => consumer_id ?? []) ?? [];
  const since = change?.baseline ? Date.parse(change.baseline.since) : (before?.from ?? from);
  const names = useConsumers(toIso(since), ids);
  const against = release === null ? (before?.name ?? '') : `as long before the release ${release}`;
  const format = measure === 'response_time' ? formatMs : formatNumber;
  return (
    <Panel
      title="What changed?"
      curl={value?.curl}
      isBusy={isLoading}
      class="changes"
      actions={
        <>
          <select
            class="small"
            aria-label="Measure"
            onChange={({ currentTarget }) =>
              go({ changed: currentTarget.value as typeof measure }, 'replace')
            }
          >
            {Object.entries(MEASURES).map(([id, name]) => (
              <option key={id} value={id} selected={id === measure}>
                {name}
              </option>
            ))}
          </select>
          <select
            class="small"
            aria-label="Compared with"
            onChange={({ currentTarget }) => go({ release: currentTarget.value || null }, 'replace')}
          >
            <option value="" selected={release === null}>
              {before?.name ?? 'the period before'}
            </option>
            {[
              ...new Set([...(release === null ? [] : [release]), ...releases.map(({ version }) => version)]),
            ].map((version) => (
              <option key={version} value={version} selected={version === release}>
                {`since the release ${version}`}
              </option>
            ))}
          </select>
          <button
            type="button"
            class="small quiet"
            onClick={() => go({ changed: null, release: null }, 'replace')}
          >
            Close
          </button>
        </>
      }
    >
      <div class="changes-body">
        {!windows && <p class="muted">The time to compare with is not kept any more.</p>}
        {windows && !change && !failure && <span class="placeholder tall" />}
        {windows && change && (
          <>
            <p>
              <strong>{MEASURES[measure]}</strong>: {format(change.total.before)} → {format(change.total.now)}{' '}
              <Delta
                now={change.total.now ?? 0}
                before={change.total.before ?? 0}
                format={format}
                title={against}
                {...(measure !== 'requests' && { direction: 'less is better' })}
              />
              <span class="muted">
                {' '}
                {formatCompared(change.window, window)} against {formatCompared(change.baseline, window)} (
                {against}).
                {change.slow_from_ms !== null &&
                  ` Shares are of requests slower than ${formatMs(change.slow_from_ms)}, the p95 before.`}
              </span>
            </p>
            <div class="columns">
              {(Object.keys(TITLES) as (keyof typeof TITLES)[]).map((dimension) => (
                <Dimension
                  key={dimension}
                  title={TITLES[dimension]}
                  groups={change.data.filter((group) => group.dimension === dimension)}
                  others={change.others.find((group) => group.dimension === dimension)}
                  names={names}
                  format={format}
                />
              ))}
            </div>
          </>
        )}
      </div>
    </Panel>
  );
}

/** The window until now, and as much of the window before. */
function listWindows({ from, to, isLive }: Window, before: NonNullable<Window['before']>) {
  return {
    since: toIso(from),
    until: toIso(isLive ? from + (before.until - before.from) : to),
    baseline_since: toIso(before.from),
    baseline_until: toIso(before.until),
  };
}

/** The part of a compared window that is kept. */
function formatCompared(compared: ExplainedChange['window'], { interval, zone }: Window): string {
  if (!compared) return 'what is not kept any more';
  const [from, to] = [Date.parse(compared.since), Date.parse(compared.until)];
  const isOfDays =
    interval === 'day' && [from, to].every((time) => formatTime(time, 'time', zone) === '00:00');
  return formatWindow({ from, to, zone, interval: isOfDays ? 'day' : 'hour' });
}

function Dimension(props: {
  title: string;
  groups: readonly ChangedGroup[];
  others: { groups: number; share: number | null } | undefined;
  names: ReadonlyMap<number, Consumer> | undefined;
  format: (value: number | null) => string;
}) {
  const { title, groups, others, names, format } = props;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" class="number">
            Before
          </th>
          <th scope="col" class="number">
            Now
          </th>
          <th scope="col" class="number" title="Share of the group in the change of the whole">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group, index) => (
          <tr key={index}>
            <th scope="row">
              <i
                class="share"
                style={{ width: `${Math.min(100, Math.max(0, (group.share ?? 0) * 100))}%` }}
              />
              <GroupName group={group} names={names} />
            </th>
            <td class="number">{format(group.before)}</td>
            <td class="number">{format(group.now)}</td>
            <td class="number">{formatShare(group.share)}</td>
          </tr>
        ))}
        {groups.length === 0 && (
          <tr>
            <td colSpan={4} class="muted">
              Nothing changed.
            </td>
          </tr>
        )}
        {others && (
          <tr class="muted">
            <td colSpan={3}>{formatNumber(others.groups)} others</td>
            <td class="number">{formatShare(others.share)}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
