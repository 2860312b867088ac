import type { ComponentChildren } from 'preact';
import type { Loaded, MetricsRow } from './api.js';
import { formatBytes, formatCompact, formatMs, formatShare } from './format.js';
import type { Point } from './points.js';
import type { Load } from './session.js';

export function Totals({ load, points }: { load: Load<Loaded<MetricsRow[]>>; points: Point[] | undefined }) {
  const row = load.value?.data[0];
  const now = points && Date.now();
  // The running period is left out of both windows: otherwise the comparison would say "less" until it ends.
  const whole = points?.filter(({ end }) => end <= (now ?? 0));
  const sum = whole?.reduce((total, { requests }) => total + requests, 0);
  const before = whole?.reduce((total, point) => total + (point.before ?? 0), 0);
  const change = sum !== undefined && before ? sum / before - 1 : null;
  const isKnown = load.value !== undefined || load.failure !== undefined;
  const requests = load.value ? formatCompact(row?.requests ?? 0) : '–';
  return (
    <dl class="totals panel" aria-busy={load.isLoading}>
      <Total name="Requests" value={isKnown ? requests : undefined}>
        {change !== null && (
          <span title="Compared with the period before, without the running period">
            {change >= 0 ? '▲' : '▼'} {formatShare(Math.abs(change))}
          </span>
        )}
      </Total>
      <Total name="Error rate" value={isKnown ? formatShare(row?.error_rate) : undefined} />
      <Total name="Response time, p50" value={isKnown ? formatMs(row?.response_time_p50) : undefined} />
      <Total name="Response time, p95" value={isKnown ? formatMs(row?.response_time_p95) : undefined} />
      <Total name="Apdex, 500 ms" value={isKnown ? (row?.apdex?.toFixed(2) ?? '–') : undefined} />
      <Total name="Data sent" value={isKnown ? formatBytes(row?.bytes_sent) : undefined} />
    </dl>
  );
}

function Total(props: { name: string; value: string | undefined; children?: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        {props.value ?? <span class="placeholder" />} <small>{props.children}</small>
      </dd>
    </div>
  );
}
