import type { ExportFormat } from '../../shared/file-format.js';
import { PRODUCT_VERSION } from '../../config/version.js';
import { countDroppedLines } from '../logger.js';
import { BusiestApps } from './busiest-apps.js';
import { Counter, Gauge, Histogram, type Metric, type MetricSpec, type MetricSample } from './instruments.js';
import { ProcessMetrics } from './process-metrics.js';

const PREFIX = 'request_analytics_';

/** From a cached response to the longest query allowed by default. */
const BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BOUNDS_MESSAGES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];

/** Other methods come from clients, who can make up any number of them. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Outcome of a query. */
export type QueryOutcome = 'ok' | 'timed_out' | 'unavailable' | 'client_closed' | 'failed';

/**
 * The limits: requests of an API key, messages of a client ID, queries of traces, and invalid credentials
 * (keys, client IDs, write tokens) of an address.
 */
export type Limit = 'api_key' | 'client_id' | 'auth_failure' | 'traces';

/** Outcome of a message of a client library. */
export type MessageOutcome =
  'accepted' | 'unknown_client' | 'rate_limited' | 'invalid' | 'disconnected' | 'unavailable' | 'failed';

/** Outcome of an export: completed, or why it broke off. */
export type ExportOutcome =
  'completed' | 'client_closed' | 'max_rows' | 'max_seconds' | 'place_taken' | 'failed';

/**
 * Why a client that reads slowly lost its connection: it was below the least rate, or others needed the
 * memory.
 */
export type CutReason = 'slow' | 'memory';

/**
 * The metrics of the process. Every label has few values, from this code or the routes: never client
 * input, keys, URLs or teams. App IDs are those of the twenty busiest apps.
 */
export class Metrics {
  private readonly process = new ProcessMetrics();
  private readonly all: Metric[] = [...this.process.all];

  private readonly requests = this.histogram(
    {
      name: 'http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its response',
      labels: ['method', 'route', 'status'],
    },
    BOUNDS_SECONDS,
  );
  private readonly queries = this.histogram(
    {
      name: 'store_query_duration_seconds',
      help: 'Time of a statement, including its time in the query queue',
      labels: ['query', 'outcome'],
    },
    BOUNDS_SECONDS,
  );
  private readonly rowsRead = this.counter({
    name: 'store_read_rows_total',
    help: 'Rows that statements read, as the engine counts them',
    labels: ['query'],
  });
  private readonly bytesRead = this.counter({
    name: 'store_read_bytes_total',
    help: 'Bytes, uncompressed, that statements read, as the engine counts them',
    labels: ['query'],
  });
  private readonly alertMessages = this.counter({
    name: 'alert_messages_total',
    help: 'Attempts to send a message of alerts',
    labels: ['channel', 'outcome'],
  });
  private readonly decisions = this.counter({
    name: 'rate_limit_decisions_total',
    help: 'Requests, messages and invalid credentials that a rate limit allowed or refused',
    labels: ['limit', 'decision'],
  });
  private readonly exports = this.counter({
    name: 'exports_total',
    help: 'Exports of request logs and spans, and long metrics, that ended, completed or broken off',
    labels: ['format', 'outcome'],
  });
  private readonly messages = this.counter({
    name: 'collector_messages_total',
    help: 'Messages of client libraries',
    labels: ['kind', 'outcome'],
  });
  private readonly rejections = this.counter({
    name: 'collector_rejected_total',
    help: 'Rejected messages, entries of accepted messages and optional members of accepted entries, by field',
    labels: ['kind', 'what', 'field'],
  });
  private readonly commits = this.histogram(
    {
      name: 'collector_commit_duration_seconds',
      help: 'Time to commit a batch of messages',
      labels: ['outcome'],
    },
    BOUNDS_SECONDS,
  );
  private readonly batches = this.histogram(
    { name: 'collector_batch_messages', help: 'Messages of a batch', labels: [] },
    BOUNDS_MESSAGES,
  );
  private readonly droppedConnections = this.counter({
    name: 'http_dropped_connections_total',
    help: 'Connections closed because the port was at its limit',
  });
  private readonly cutReaders = this.counter({
    name: 'http_cut_readers_total',
    help: 'Connections closed because their client read a response too slowly',
    labels: ['because'],
  });
  private readonly apiRequests = new BusiestApps();
  private readonly collectorMessages = new BusiestApps();
  private readonly fallbacks: (() => boolean)[] = [];

  constructor() {
    this.gauge(
      { name: 'build_info', help: 'Always 1; the labels name the versions', labels: ['version', 'node'] },
      () => [{ values: [PRODUCT_VERSION, process.versions.node], value: 1 }],
    );
    this.gauge(
      { name: 'log_dropped_lines_total', help: 'Log lines dropped because nothing read the output' },
      () => [{ value: countDroppedLines() }],
      'counter',
    );
    this.gauge(
      {
        name: 'busiest_apps_requests',
        help: 'Requests to the API in the last whole minute, for the twenty busiest apps',
        labels: ['app_id'],
      },
      () => this.apiRequests.samples(),
    );
    this.gauge(
      {
        name: 'busiest_apps_messages',
        help: 'Messages to the collector in the last whole minute, for the twenty busiest apps',
        labels: ['app_id'],
      },
      () => this.collectorMessages.samples(),
    );
    this.gauge(
      {
        name: 'rate_limit_fallback',
        help: '1 while Redis is configured but unavailable and this process counts alone',
      },
      () => [{ value: this.fallbacks.some((isFallback) => isFallback()) ? 1 : 0 }],
    );
  }

  /** One request. `status` is `client_closed` when the client disconnected before the response. */
  observeRequest(method: string, route: string, status: number | 'client_closed', seconds: number): void {
    this.requests.observe([METHODS.has(method) ? method : 'other', route, status], seconds);
  }

  /** One request for an app: a read of the API, or a message to the collector. */
  countApp(appId: number, server: 'api' | 'collector'): void {
    (server === 'api' ? this.apiRequests : this.collectorMessages).add(appId);
  }

  countDroppedConnections(amount: number): void {
    this.droppedConnections.add([], amount);
  }

  countCutReader(because: CutReason): void {
    this.cutReaders.add([because]);
  }

  /** One statement by its name. */
  observeQuery(query: string, outcome: QueryOutcome, seconds: number, rows: number, bytes: number): void {
    this.queries.observe([query, outcome], seconds);
    if (rows > 0) this.rowsRead.add([query], rows);
    if (bytes > 0) this.bytesRead.add([query], bytes);
  }

  countDecision(limit: Limit, isAllowed: boolean): void {
    this.decisions.add([limit, isAllowed ? 'allowed' : 'refused']);
  }

  /** @param outcome `failed`: it is given up after a day */
  countAlertMessage(channel: string, outcome: 'delivered' | 'retried' | 'failed'): void {
    this.alertMessages.add([channel, outcome]);
  }

  countExport(format: ExportFormat, outcome: ExportOutcome): void {
    this.exports.add([format, outcome]);
  }

  countMessage(kind: string, outcome: MessageOutcome): void {
    this.messages.add([kind, outcome]);
  }

  /** @param field a name of the protocol, without indexes */
  countRejected(kind: string, part: 'message' | 'entry' | 'member', field: string, amount: number): void {
    this.rejections.add([kind, part, field], amount);
  }

  observeCommit(outcome: 'ok' | 'failed', seconds: number, messages: number): void {
    this.commits.observe([outcome], seconds);
    this.batches.observe([], messages);
  }

  /** A counter with a fallback. The API has one, and the collector has one. */
  registerFallbackGauge(isFallback: () => boolean): void {
    this.fallbacks.push(isFallback);
  }

  /**
   * Registers numbers that are read at each scrape.
   * @param kind `counter` for a number that only grows
   */
  gauge(spec: MetricSpec, read: () => readonly MetricSample[], kind?: 'gauge' | 'counter'): void {
    this.add(new Gauge(withPrefix(spec), read, kind));
  }

  /** The text of `/metrics`. */
  text(): string {
    return this.all.map((metric) => metric.text()).join('');
  }

  close() {
    this.process.close();
  }

  private counter(spec: MetricSpec): Counter {
    return this.add(new Counter(withPrefix(spec)));
  }

  private histogram(spec: MetricSpec, bounds: readonly number[]): Histogram {
    return this.add(new Histogram(withPrefix(spec), bounds));
  }

  private add<M extends Metric>(metric: M): M {
    this.all.push(metric);
    return metric;
  }
}

function withPrefix(spec: MetricSpec): MetricSpec {
  return { ...spec, name: PREFIX + spec.name };
}
