import type { Metrics } from '../observability/metrics/metrics.js';
import type { EmbeddedConnection } from './embedded/embedded.connection.js';
import type { Turns } from './query-limiter.js';

const LABELS = ['state'];
const sample = (state: string, value: number) => ({ values: [state], value });

/** Lets the metrics show how busy the store is. */
export function showLoad(metrics: Metrics, turns: Turns, embedded?: EmbeddedConnection) {
  const ofTurns = 'Queries that run and that wait for their turn, and how many may run at once';
  metrics.gauge({ name: 'store_turns', help: ofTurns, labels: LABELS }, () => [
    sample('running', turns.running),
    sample('waiting', turns.waiting),
    sample('limit', turns.atOnce),
  ]);
  if (!embedded) return;
  const ofSessions = 'Sessions of the embedded engine that have a query, and queries that wait for one';
  metrics.gauge({ name: 'store_sessions', help: ofSessions, labels: LABELS }, () => {
    const { busy, waiting } = embedded.load;
    return [sample('busy', busy), sample('waiting', waiting)];
  });
}
