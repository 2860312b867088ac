import { formatShare } from './format.js';

export type Direction = 'less is better' | 'more is better';

/** Smaller changes are shown as none. */
const LEAST = 0.0005;

/** The change of a value, such as ▲ 12.5 %, with the earlier value as its title. */
export function Delta(props: {
  now: number;
  before: number;
  format: (value: number) => string;
  /** Left out: neither is better. */
  direction?: Direction;
  /** What it is compared with. */
  title: string;
}) {
  const { now, before, format, direction, title } = props;
  const change = before === 0 ? null : now / before - 1;
  if (now === before || (change !== null && Math.abs(change) < LEAST)) return null;
  const isWorse = direction !== undefined && (direction === 'less is better') === now > before;
  const kind = direction === undefined ? '' : isWorse ? 'worse' : 'better';
  return (
    <span class={`delta ${kind}`} title={`Before: ${format(before)} (${title})`}>
      {change === null ? 'new' : `${change >= 0 ? '▲' : '▼'} ${formatChange(Math.abs(change))}`}
    </span>
  );
}

/** Above ten times, percents are hard to read. */
function formatChange(change: number): string {
  return change >= 9.995 ? `× ${Math.round(change + 1)}` : formatShare(change);
}
