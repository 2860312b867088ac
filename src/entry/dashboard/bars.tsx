import type { Point } from './points.js';

const WIDTH = 1000;
const HEIGHT = 100;

/** Bars without axes, with their errors in another colour. */
export function Bars(props: {
  points: readonly Pick<Point, 'requests' | 'clientErrors' | 'serverErrors'>[];
  /** What they show. */
  label: string;
  /** A click on a bar; the same is possible in the chart by the keyboard. */
  choose?: (index: number) => void;
}) {
  const { points, label, choose } = props;
  const highest = Math.max(1, ...points.map(({ requests }) => requests));
  const step = WIDTH / Math.max(1, points.length);
  // At least a pixel, so that one request among thousands is visible.
  const height = (count: number) => (count === 0 ? 0 : Math.max(4, (count / highest) * HEIGHT));
  return (
    <svg
      class={choose ? 'bars clickable' : 'bars'}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onClick={({ currentTarget, clientX }) => {
        const { left, width } = currentTarget.getBoundingClientRect();
        choose?.(Math.min(points.length - 1, Math.floor(((clientX - left) / width) * points.length)));
      }}
    >
      {points.map(({ requests, clientErrors, serverErrors }, index) => (
        <g key={index} transform={`translate(${index * step} ${HEIGHT}) scale(1 -1)`}>
          <rect width={step * 0.84} height={height(requests)} />
          <rect class="failed" width={step * 0.84} height={height(clientErrors + serverErrors)} />
        </g>
      ))}
    </svg>
  );
}
