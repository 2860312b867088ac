import type { ErrorsService } from '../api/errors/errors.service.js';
import { QueryErrorsInput } from '../api/errors/errors.input.js';
import type { ErrorRow } from '../api/errors/errors.dto.js';
import { type MetricFilter, QueryMetricsInput } from '../api/app-metrics/app-metrics.input.js';
import { METRICS, type Metric } from '../api/app-metrics/metric-names.js';
import type { AppMetricsService } from '../api/app-metrics/app-metrics.service.js';
import type { App } from '../api/apps/apps.dto.js';
import type { AppsService } from '../api/apps/apps.service.js';
import { type MetricValues, type Rule, readValue, toFilters } from '../api/alerts/rule.js';
import { type Account, ALL_SCOPES } from '../platform/http/account.js';
import { readJsonLines } from '../queries/files/json-lines.js';
import type { AlertStore } from './alert-store.js';
import type { Measured } from './next-state.js';

const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 86_400_000;
/** An ID of no consumer: a filter by it matches nothing. */
const NO_CONSUMER = -1;

/** What the account of a key is for a request: rules read all data of their team, and nothing else. */
const accountOf = (teamId: number): Account => ({
  teamId,
  teamName: '',
  plan: 'premium',
  keyIdentifier: 'alerts',
  scopes: ALL_SCOPES,
});

/** What answers the operations of the API. */
export interface MeasuringServices {
  readonly apps: AppsService;
  readonly metrics: AppMetricsService;
  readonly errors: ErrorsService;
}

/** The values of rules, by the services of the operations. */
export class AlertMeasurements {
  /** The metrics of all rules with the same window and filters, which share one query. */
  private readonly needed = new Map<string, Set<string>>();
  /** Queries of one evaluation. */
  private readonly shared = new Map<string, Promise<MetricValues | null>>();

  constructor(
    private readonly store: AlertStore,
    private readonly services: MeasuringServices,
  ) {}

  listApps(teamId: number): Promise<App[]> {
    return this.services.apps.listAll(accountOf(teamId));
  }

  /** Begins an evaluation, and forgets the queries of the last one. */
  begin(due: readonly { rule: Rule; appId: number }[]): void {
    this.shared.clear();
    this.needed.clear();
    for (const { rule, appId } of due) {
      const key = describeQuery(appId, rule);
      this.needed.set(key, (this.needed.get(key) ?? new Set(['requests'])).add(rule.metric));
    }
  }

  /** The value of a rule in the window that ends at a time; null if there is none. */
  async measure(teamId: number, appId: number, rule: Rule, until: number): Promise<Measured | null> {
    const since = until - rule.window * MINUTE_MS;
    if (rule.metric === 'silence') return this.measureSilence(appId, rule, until);
    const filters = await this.readFilters(appId, rule);
    if (rule.metric === 'new_errors') return this.countNewErrors(teamId, appId, filters, since, until);
    const { metric } = rule;
    const names = this.needed.get(describeQuery(appId, rule)) ?? new Set(['requests', metric]);
    const needed = METRICS.filter((name) => names.has(name));
    const values = await this.query(teamId, appId, filters, since, until, needed);
    const now = readValue(values, metric);
    if (now === null) return null;
    const isTooFew = (values?.requests ?? 0) < rule.min_requests;
    if (rule.compare === 'threshold') return { value: now, isTooFew };
    const before = await this.query(teamId, appId, filters, since - WEEK_MS, until - WEEK_MS, needed);
    const base = readValue(before, metric);
    if (base === null || base === 0) return null;
    return { value: now / base - 1, isTooFew: isTooFew || (before?.requests ?? 0) < rule.min_requests };
  }

  /** Minutes without data, if there was any; the rule breaks when they are as many as its window. */
  private async measureSilence(appId: number, rule: Rule, until: number): Promise<Measured | null> {
    const last = await this.store.findLastData(appId, rule.env);
    return last === 0 ? null : { value: Math.max(0, (until - last) / MINUTE_MS) };
  }

  private async countNewErrors(
    teamId: number,
    appId: number,
    filters: readonly MetricFilter[],
    since: number,
    until: number,
  ): Promise<Measured> {
    const input = Object.assign(new QueryErrorsInput(), {
      app_id: appId,
      body: {},
      filters,
      window: { since, until, now: Date.now() },
    });
    const rows = await readJsonLines<ErrorRow>(
      await this.services.errors.query(accountOf(teamId), input, 'ndjson'),
    );
    const isNew = ({ first_seen }: ErrorRow) => {
      const at = Date.parse(first_seen);
      return at >= since && at < until;
    };
    return { value: rows.filter(isNew).length };
  }

  private query(
    teamId: number,
    appId: number,
    filters: readonly MetricFilter[],
    since: number,
    until: number,
    metrics: readonly Metric[],
  ): Promise<MetricValues | null> {
    const key = JSON.stringify([teamId, appId, filters, since, until]);
    let values = this.shared.get(key);
    if (!values) {
      const input = Object.assign(new QueryMetricsInput(), {
        app_id: appId,
        body: {},
        metrics,
        filters,
        window: { since, until, now: Date.now() },
      });
      values = this.services.metrics
        .query(accountOf(teamId), input, 'ndjson')
        .then((file) => readJsonLines<MetricValues>(file))
        .then(([row]) => row ?? null);
      this.shared.set(key, values);
    }
    return values;
  }

  private async readFilters(appId: number, rule: Rule): Promise<MetricFilter[]> {
    if (rule.consumer === undefined) return toFilters(rule, undefined);
    return toFilters(rule, (await this.store.findConsumer(appId, rule.consumer)) ?? NO_CONSUMER);
  }
}

function describeQuery(appId: number, { window, env, method, path, consumer, group, status }: Rule): string {
  return JSON.stringify(
    [appId, window, env, method, path, consumer, group, status].map((part) => part ?? null),
  );
}
