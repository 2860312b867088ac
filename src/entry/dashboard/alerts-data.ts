import { useState } from 'preact/hooks';
import type { Alert, Api } from './api.js';
import { formatBytes, formatMs, formatNumber, formatShare } from './format.js';
import { type Session, REFRESH_MS, useLoadOf, useWhileVisible, withoutScope } from './session.js';

const MINUTE_MS = 60_000;
const SIGNS = { gt: '>', gte: '≥', lt: '<', lte: '≤' } as const;

/** The alerts of an app, loaded again each minute for all that shows them. @param appId null: of none */
export function useAlerts(
  api: Api,
  appId: number | null,
  session: Pick<Session, 'retries' | 'fail'>,
): Session['alerts'] {
  const [refreshes, setRefreshes] = useState(0);
  useWhileVisible(REFRESH_MS, appId !== null, () => setRefreshes((count) => count + 1));
  const { value, ...load } = useLoadOf(
    session,
    appId === null ? null : `alerts ${appId} ${refreshes}`,
    async () => ({ appId, loaded: appId === null ? null : await api.alerts(appId).catch(withoutScope) }),
    `alerts ${appId ?? ''}`,
  );
  // The value of another app stays until the next one is loaded.
  return { ...load, value: value?.appId === appId ? value.loaded : undefined };
}

/** The time of a state: from the begin of the window that changed it, to the next change. */
export function spanOf({ rule, evaluated_at, history }: Alert, index: number): { from: number; to: number } {
  const since = history[index]?.since ?? '';
  return {
    from: Date.parse(since) - rule.window_minutes * MINUTE_MS,
    to: Date.parse(history[index - 1]?.since ?? evaluated_at ?? since),
  };
}

/** A value as the rule measures it. */
export function formatMeasured({ rule: { metric, compare } }: Alert, value: number | null): string {
  if (value === null) return '–';
  if (compare === 'last_week') return `${value > 0 ? '+' : ''}${formatShare(value)}`;
  if (metric === 'error_rate') return formatShare(value);
  if (metric === 'silence') return `${formatNumber(Math.round(value))} min`;
  if (metric.startsWith('response_time')) return formatMs(value);
  if (metric.startsWith('bytes_') || metric.includes('_size_')) return formatBytes(value);
  return formatNumber(Number(value.toPrecision(4)));
}

/** Beyond what it fires. A digest has no limit. */
export function formatLimit(alert: Alert): string {
  const { metric, op, value, window_minutes } = alert.rule;
  if (metric === 'weekly') return '–';
  if (metric === 'silence') return `≥ ${formatMeasured(alert, window_minutes)}`;
  return `${SIGNS[op]} ${formatMeasured(alert, value)}`;
}
