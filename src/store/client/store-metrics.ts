import type { Metrics } from '../../telemetry/metrics/metrics.js';
import type { EmbeddedConnection } from '../embedded/embedded.connection.js';
import type { QueryLimiter } from './query-limiter.js';

const LABELS = ['state'];
const sample = (state: string, value: number) => ({ values: [state], value });

/** Registers the gauges of the store's load. */
export function registerStoreMetrics(metrics: Metrics, limiter: QueryLimiter, embedded?: EmbeddedConnection) {
  const queriesHelp = 'Queries that run, queries in the queue, and the limit of running queries';
  metrics.gauge({ name: 'store_queries', help: queriesHelp, labels: LABELS }, () => [
    sample('running', limiter.running),
    sample('waiting', limiter.waiting),
    sample('limit', limiter.concurrency),
  ]);
  if (!embedded) return;
  const sessionsHelp = 'Sessions of the embedded engine that run a statement';
  metrics.gauge({ name: 'store_sessions', help: sessionsHelp, labels: LABELS }, () => [
    sample('busy', embedded.busySessions),
  ]);
}
