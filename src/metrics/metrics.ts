import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** From a cached key to the longest query allowed. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** How a query of the store ended. */
export type QueryOutcome = 'ok' | 'timed_out' | 'unavailable' | 'abandoned' | 'failed';

/**
 * What the process tells Prometheus. Labels take few values each (routes, statuses, names of queries), never anything a
 * client sends: no keys, no URLs, no teams.
 */
export class Metrics {
  readonly registry = new Registry();

  private readonly requests = new Histogram({
    name: 'request_analytics_http_request_duration_seconds',
    help: 'Duration of HTTP requests by route and status',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: BUCKETS_SECONDS,
    registers: [this.registry],
  });

  private readonly queries = new Histogram({
    name: 'request_analytics_store_query_duration_seconds',
    help: 'Duration of store queries by name and outcome, waiting for their turn included',
    labelNames: ['query', 'outcome'] as const,
    buckets: BUCKETS_SECONDS,
    registers: [this.registry],
  });

  private readonly decisions = new Counter({
    name: 'request_analytics_rate_limit_decisions_total',
    help: 'Requests with a valid key that the rate limit let pass or refused',
    labelNames: ['decision'] as const,
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** One HTTP request. `route` is the pattern that took it; undefined when none did. */
  observeRequest(method: string, route: string | undefined, status: number, seconds: number): void {
    this.requests.observe(
      { method: METHODS.has(method) ? method : 'other', route: route ?? 'none', status },
      seconds,
    );
  }

  /** One query of the store. */
  observeQuery(query: string, outcome: QueryOutcome, seconds: number): void {
    this.queries.observe({ query, outcome }, seconds);
  }

  /** One decision of the rate limit. */
  countDecision(decision: 'passed' | 'refused'): void {
    this.decisions.inc({ decision });
  }

  /** A value that is read when it is asked for. */
  gauge(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name: `request_analytics_${name}`,
      help,
      registers: [this.registry],
      collect: () => {
        gauge.set(read());
      },
    });
  }
}

/** Other methods come from clients, who can make up any number of them. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
