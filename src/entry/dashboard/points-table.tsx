import { formatMs, formatNumber, formatShare } from './format.js';
import { type Mark, describeMark, isWithin } from './marks.js';
import { type Point, namePeriod } from './points.js';
import { Text } from './parts.js';
import type { Window } from './time.js';

export function PointsTable(props: { points: readonly Point[]; window: Window; marks: readonly Mark[] }) {
  const { points, window, marks } = props;
  return (
    <div class="scroll points" tabIndex={0} role="region" aria-label="Traffic by period">
      <table>
        <thead>
          <tr>
            <th scope="col">Period</th>
            {['Requests', 'Period before', '4xx', '5xx', 'Error rate', 'p50', 'p95'].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map((point) => (
            <tr key={point.start}>
              <th scope="row">
                {namePeriod(point, window)}
                {marks
                  .filter((mark) => isWithin(mark, point))
                  .map((mark) => (
                    <span key={`${mark.from} ${describeMark(mark)}`} class="muted">
                      {' '}
                      · <Text max={100}>{describeMark(mark)}</Text>
                    </span>
                  ))}
              </th>
              <td class="number">{formatNumber(point.requests)}</td>
              <td class="number">{formatNumber(point.before?.requests)}</td>
              <td class="number">{formatNumber(point.clientErrors)}</td>
              <td class="number">{formatNumber(point.serverErrors)}</td>
              <td class="number">{formatShare(point.errorRate)}</td>
              <td class="number">{formatMs(point.p50)}</td>
              <td class="number">{formatMs(point.p95)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
