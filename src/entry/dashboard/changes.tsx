import type { ChangedGroup, ChangesQuery, Consumer } from './api.js';
import { Delta } from './delta.js';
import { formatMs, formatNumber, formatShare } from './format.js';
import { GroupName } from './group-name.js';
import { Panel } from './parts.js';
import { listFilters, useConsumers, useLoad, useSession } from './session.js';
import { MEASURES, type State } from './state.js';
import { type Window, formatWindow, toIso } from './time.js';

/** Groups of each dimension. */
const SHOWN = 5;
const TITLES = { endpoint: 'Endpoints', consumer: 'Consumers', status: 'Statuses' } as const;

/** What changed a measure: the endpoints, consumers and statuses with the largest shares. */
export function Changes({ window, measure }: { window: Window; measure: NonNullable<State['changed']> }) {
  const { api, app, state, go } = useSession();
  const { from, to, before, isLive } = window;
  const filters = listFilters(state);
  const query: ChangesQuery | null = before && {
    measure,
    since: toIso(from),
    // As long as the part of the earlier window.
    until: toIso(isLive ? from + (before.until - before.from) : to),
    baseline_since: toIso(before.from),
    baseline_until: toIso(before.until),
    ...(filters.length > 0 && { filters }),
    limit: SHOWN,
  };
  const { value, isLoading, failure } = useLoad(
    query && `changes ${app.id} ${JSON.stringify(query)}`,
    async () => query && (await api.changes(app.id, query)),
  );
  const change = value?.data;
  const ids = change?.data.flatMap(({ consumer_id }) => consumer_id ?? []) ?? [];
  const names = useConsumers(toIso(before?.from ?? from), ids);
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
          <button type="button" class="small quiet" onClick={() => go({ changed: null }, 'replace')}>
            Close
          </button>
        </>
      }
    >
      <div class="changes-body">
        {!before && <p class="muted">The time to compare with is not kept any more.</p>}
        {before && !change && !failure && <span class="placeholder tall" />}
        {before && change && (
          <>
            <p>
              <strong>{MEASURES[measure]}</strong>: {format(change.total.before)} → {format(change.total.now)}{' '}
              <Delta
                now={change.total.now ?? 0}
                before={change.total.before ?? 0}
                format={format}
                title={before.name}
                {...(measure !== 'requests' && { direction: 'less is better' })}
              />
              <span class="muted">
                {' '}
                {formatWindow({ ...window, to: from + (before.until - before.from) })} against{' '}
                {formatWindow({ ...window, from: before.from, to: before.until })} ({before.name}).
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
