import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Loaded, MetricsRow } from './api.js';
import { formatMs, formatNumber, formatShare } from './format.js';
import { Panel } from './parts.js';
import { type Load, sayNothing, useSession } from './session.js';
import type { Sort } from './state.js';

const ROWS = 10;
const MORE_ROWS = 50;
/** Number of rows after a click on "more". */
export const SHOWN_ROWS = ROWS + MORE_ROWS;

const SORTS: Record<Sort, { name: string; read: (row: MetricsRow) => number }> = {
  requests: { name: 'Requests', read: ({ requests }) => requests ?? 0 },
  errors: {
    name: 'Errors',
    read: ({ client_errors, server_errors }) => (client_errors ?? 0) + (server_errors ?? 0),
  },
  p95: { name: 'p95', read: ({ response_time_p95 }) => response_time_p95 ?? -1 },
};

export function sortRows(rows: readonly MetricsRow[], sort: Sort): MetricsRow[] {
  const { read } = SORTS[sort];
  return rows.toSorted((a, b) => read(b) - read(a));
}

/** The groups with the most requests, errors or the highest p95. A click filters by the group. */
export function TopTable(props: {
  title: string;
  load: Load<Loaded<MetricsRow[]>>;
  name: (row: MetricsRow) => ComponentChildren;
  isChosen: (row: MetricsRow) => boolean;
  canChoose: (row: MetricsRow) => boolean;
  choose: (row: MetricsRow) => void;
}) {
  const { state, go } = useSession();
  const [count, setCount] = useState(ROWS);
  const { value, isLoading } = props.load;
  const { read } = SORTS[state.sort];
  const rows = useMemo(() => value && sortRows(value.data, state.sort), [value, state.sort]);
  const highest = Math.max(1, read(rows?.[0] ?? ({} as MetricsRow)));
  return (
    <Panel title={props.title} curl={value?.curl} isBusy={isLoading} class="top">
      <table>
        <thead>
          <tr>
            <th scope="col">{props.title.slice(0, -1)}</th>
            {(Object.keys(SORTS) as Sort[]).map((sort) => (
              <th
                key={sort}
                scope="col"
                class="number"
                aria-sort={state.sort === sort ? 'descending' : 'none'}
              >
                <button type="button" onClick={() => go({ sort }, 'replace')}>
                  {SORTS[sort].name}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.slice(0, count).map((row) => (
            <tr key={JSON.stringify([row.method, row.path, row.consumer_id])}>
              <th scope="row">
                <i class="share" style={{ width: `${(Math.max(0, read(row)) / highest) * 100}%` }} />
                {props.canChoose(row) && !props.isChosen(row) ? (
                  <button type="button" onClick={() => props.choose(row)}>
                    {props.name(row)}
                  </button>
                ) : (
                  <span>{props.name(row)}</span>
                )}
              </th>
              <td class="number">{formatNumber(row.requests)}</td>
              <td class="number">
                {formatNumber(SORTS.errors.read(row))}{' '}
                <span class="muted rate">{formatShare(row.error_rate)}</span>
              </td>
              <td class="number">{formatMs(row.response_time_p95)}</td>
            </tr>
          ))}
          {Array.from({ length: Math.max(0, ROWS - (rows?.length ?? 0)) }, (_, index) => {
            const text = index === 0 && rows?.length === 0 ? sayNothing(state) : '';
            return (
              <tr key={index} class="empty" aria-hidden={text === ''}>
                <td colSpan={4} class={text && 'nothing'}>
                  {rows ? text : <span class="placeholder" />}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <footer>
        {rows && rows.length > count && (
          <button type="button" class="small quiet" onClick={() => setCount(count + MORE_ROWS)}>
            Show {Math.min(MORE_ROWS, rows.length - count)} more of {formatNumber(rows.length)}
          </button>
        )}
      </footer>
    </Panel>
  );
}
