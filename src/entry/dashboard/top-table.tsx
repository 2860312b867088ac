import { useMemo, useState } from 'preact/hooks';
import type { Consumer, MetricsRow } from './api.js';
import { Delta } from './delta.js';
import { formatMs, formatNumber } from './format.js';
import { GroupName } from './group-name.js';
import { EmptyRows, ShowMore } from './more-rows.js';
import type { Compared } from './overview-data.js';
import { Panel } from './parts.js';
import { type Load, sayNothing, useSession } from './session.js';
import { ROWS, SORTS, hasFew, sortRows } from './sort-rows.js';
import type { Sort } from './state.js';

const nameGroup = ({ method, path, consumer_id, status_code }: MetricsRow) =>
  JSON.stringify([method, path, consumer_id, status_code]);

/** The groups with the most requests or errors, or the highest p95. A click filters by the group. */
export function TopTable(props: {
  title: string;
  /** Name of the first column. */
  of: string;
  load: Load<Compared>;
  names: ReadonlyMap<number, Consumer> | undefined;
  /** What the window is compared with. */
  against: string;
  /** Number of rows before a click on "more". */
  length?: number;
}) {
  const { state, go } = useSession();
  const { length = ROWS, against, names } = props;
  const [count, setCount] = useState(length);
  const { value, isLoading } = props.load;
  const { read } = SORTS[state.sort];
  const rows = useMemo(() => value && sortRows(value.data, state.sort), [value, state.sort]);
  const earlier = useMemo(
    () => value?.before && new Map(value.before.map((row) => [nameGroup(row), row])),
    [value],
  );
  const highest = Math.max(1, ...(rows ?? []).map(read));
  const sorts = Object.keys(SORTS) as Sort[];
  return (
    <Panel title={props.title} curl={value?.curl} isBusy={isLoading} class="top">
      <table>
        <thead>
          <tr>
            <th scope="col">{props.of}</th>
            {sorts.map((sort) => (
              <th
                key={sort}
                scope="col"
                class={`number column-${sort}`}
                aria-sort={state.sort === sort ? 'descending' : 'none'}
              >
                <button type="button" title={SORTS[sort].word} onClick={() => go({ sort }, 'replace')}>
                  {SORTS[sort].name}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.slice(0, count).map((row) => {
            const before = earlier?.get(nameGroup(row));
            return (
              <tr key={nameGroup(row)}>
                <th scope="row">
                  <i class="share" style={{ width: `${(Math.max(0, read(row)) / highest) * 100}%` }} />
                  <GroupName group={row} names={names} />
                </th>
                <td class="number">
                  {earlier && (
                    <Delta
                      now={row.requests ?? 0}
                      before={before?.requests ?? 0}
                      format={formatNumber}
                      title={against}
                    />
                  )}
                  {formatNumber(row.requests)}
                </td>
                <td class="number column-client">{formatNumber(row.client_errors)}</td>
                <td class={row.server_errors ? 'number failed' : 'number'}>
                  {formatNumber(row.server_errors)}
                </td>
                <td
                  class={hasFew(row) ? 'number muted' : 'number'}
                  title={hasFew(row) ? `Of ${formatNumber(row.requests)} requests alone` : undefined}
                >
                  {before && !hasFew(row) && !hasFew(before) && typeof row.response_time_p95 === 'number' && (
                    <Delta
                      now={row.response_time_p95}
                      before={before.response_time_p95 ?? row.response_time_p95}
                      format={formatMs}
                      direction="less is better"
                      title={against}
                    />
                  )}
                  {formatMs(row.response_time_p95)}
                </td>
              </tr>
            );
          })}
          <EmptyRows
            length={length}
            rows={rows}
            columns={sorts.length + 1}
            nothing={rows?.length === 0 ? sayNothing(state) : ''}
          />
        </tbody>
      </table>
      <footer>
        <ShowMore rows={rows} count={count} setCount={setCount} />
      </footer>
    </Panel>
  );
}
