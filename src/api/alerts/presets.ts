import type { RuleInput } from './rule.js';

/** Ready-made rules. */
export const PRESETS: Readonly<Record<string, RuleInput>> = {
  errors: {
    metric: 'error_rate',
    value: 0.05,
    window: '10m',
    min_requests: 50,
    for: 2,
    severity: 'critical',
  },
  latency: { metric: 'response_time_p95', value: 1_000, window: '10m', min_requests: 50, for: 2 },
  silence: { metric: 'silence', window: '15m', severity: 'critical' },
  'new-error': { metric: 'new_errors', window: '15m' },
  weekly: { metric: 'weekly', severity: 'info' },
};
