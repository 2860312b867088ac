import { formatNumber } from './format.js';
import { MORE_ROWS } from './sort-rows.js';

/**
 * Rows that keep the room of a table while it loads, and where it has few rows.
 *
 * @param props.rows undefined while they load
 * @param props.nothing what the first one says; empty: nothing
 */
export function EmptyRows(props: {
  length: number;
  rows: readonly unknown[] | undefined;
  columns: number;
  nothing: string;
}) {
  const { length, rows, columns, nothing } = props;
  const count = rows?.length ?? 0;
  return Array.from({ length: Math.max(0, length - count) }, (_, index) => {
    const text = index === 0 ? nothing : '';
    return (
      // By its place: those below the rows that arrive stay where they are.
      <tr key={count + index} class="empty" aria-hidden={text === ''}>
        <td colSpan={columns} class={text && 'nothing'}>
          {rows || text !== '' ? text : <span class="placeholder" />}
        </td>
      </tr>
    );
  });
}

/** Shows further rows of a list, and says how many there are. */
export function ShowMore(props: {
  rows: readonly unknown[] | undefined;
  count: number;
  setCount: (count: number) => void;
  step?: number;
}) {
  const { rows, count, setCount, step = MORE_ROWS } = props;
  if (!rows || rows.length <= count) return null;
  return (
    <button type="button" class="small quiet" onClick={() => setCount(count + step)}>
      Show {Math.min(step, rows.length - count)} more of {formatNumber(rows.length)}
    </button>
  );
}
