import type { Release } from './api.js';
import { formatMs, formatNumber, formatShare } from './format.js';
import { type Point, namePeriod } from './points.js';
import { Text } from './parts.js';
import { isWithin } from './releases.js';
import type { Window } from './time.js';

export function PointsTable(props: {
  points: readonly Point[];
  window: Window;
  releases: readonly Release[];
}) {
  const { points, window, releases } = props;
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
                {releases
                  .filter((release) => isWithin(release, point))
                  .map(({ version, env }) => (
                    <span key={`${env} ${version}`} class="muted">
                      {' '}
                      · release <Text>{version}</Text> (<Text>{env}</Text>)
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
