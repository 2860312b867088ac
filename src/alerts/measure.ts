import type { ErrorsService } from '../api/errors/errors.service.js';
import { QueryErrorsInput } from '../api/errors/errors.input.js';
import type { ErrorRow } from '../api/errors/errors.dto.js';
import {
  type GroupField,
  type MetricFilter,
  QueryMetricsInput,
} from '../api/app-metrics/app-metrics.input.js';
import { METRICS, type Metric } from '../api/app-metrics/metric-names.js';
import type { AppMetricsService } from '../api/app-metrics/app-metrics.service.js';
import type { App } from '../api/apps/apps.dto.js';
import type { AppsService } from '../api/apps/apps.service.js';
import { type MetricValues, type Rule, readValue, toFilters } from '../api/alerts/rule.js';
import { ExplainChangeInput } from '../api/changes/changes.input.js';
import { type MetricsValues, buildGroupKey } from '../api/changes/groups.js';
import type { ChangesService } from '../api/changes/changes.service.js';
import type { Measure } from '../api/changes/measure-change.js';
import type { ConsumersService } from '../api/consumers/consumers.service.js';
import { type Account, ALL_SCOPES } from '../platform/http/account.js';
import { readJsonLines } from '../queries/files/json-lines.js';
import { ValidationException } from '../platform/input/validation.exception.js';
import type { Window } from '../shared/time/window.js';
import { DAY_MS, MINUTE_MS } from '../shared/time/units.js';
import type { AlertStore } from './alert-store.js';
import { DIGEST_METRICS, type Digest, type DigestValues } from './digest.js';
import { findWeeks } from './digest-schedule.js';
import type { Measured } from './next-state.js';

const WEEK_MS = 7 * DAY_MS;
/** An ID of no consumer: a filter by it matches nothing. */
const NO_CONSUMER = -1;
/** Rules that share one query: a server limits the length of its parameters. */
const MAX_SHARED = 100;
/** Endpoints of a digest for each measure, and names of consumers. */
const MAX_MOVES = 3;
const MAX_NAMES = 5;
const NOBODY = { consumers: 0, names: [] };
const NO_CONSUMERS = { new: NOBODY, quiet: NOBODY };
const NO_MOVES = { requests: [], errors: [], response_time: [] };

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
  readonly changes: ChangesService;
  readonly consumers: ConsumersService;
}

/** Rules of an app with the same window and filters on the same fields: one query has the values of all. */
class RuleGroup {
  readonly metrics = new Set<string>(['requests']);
  /** By the start of the window. */
  readonly queries = new Map<number, Promise<Map<string, MetricValues>>>();

  constructor(readonly rules: Rule[] = []) {
    for (const { metric } of rules) this.metrics.add(metric);
  }
}

/** The values of rules, by the services of the operations. */
export class AlertMeasurements {
  /** By window and filters, in one evaluation. */
  private readonly groups = new Map<string, RuleGroup>();
  /** IDs of the consumers that rules name, by app and identifier, in one evaluation. */
  private readonly consumers = new Map<string, Promise<number | undefined>>();

  constructor(
    private readonly store: AlertStore,
    private readonly services: MeasuringServices,
  ) {}

  listApps(teamId: number): Promise<App[]> {
    return this.services.apps.listAll(accountOf(teamId));
  }

  /** Begins an evaluation, and forgets the queries of the last one. */
  begin(due: readonly { rule: Rule; appId: number }[]): void {
    this.groups.clear();
    this.consumers.clear();
    const open = new Map<string, RuleGroup>();
    for (const { rule, appId } of due.filter(({ rule }) => METRICS.some((name) => name === rule.metric))) {
      const [query, shape] = [describeQuery(appId, rule), describeShape(appId, rule)];
      let group = this.groups.get(query);
      if (!group) {
        group = open.get(shape);
        if (!group || group.rules.length === MAX_SHARED) group = new RuleGroup();
        open.set(shape, group);
        group.rules.push(rule);
        this.groups.set(query, group);
      }
      group.metrics.add(rule.metric);
    }
  }

  /** The value of a rule in the window that ends at a time; null if there is none. */
  async measure(teamId: number, appId: number, rule: Rule, until: number): Promise<Measured | null> {
    const since = until - rule.window * MINUTE_MS;
    // A digest has no limit.
    if (rule.metric === 'weekly') return null;
    if (rule.metric === 'silence') return this.measureSilence(appId, rule, until);
    const filters = await this.readFilters(appId, rule);
    if (rule.metric === 'new_errors') return this.countNewErrors(teamId, appId, filters, since, until);
    const { metric } = rule;
    const group = this.groups.get(describeQuery(appId, rule)) ?? new RuleGroup([rule]);
    const find = async (from: number, to: number) => {
      const rows = await this.queryGroup(teamId, appId, group, from, to);
      return rows.get(describeValues(filters)) ?? null;
    };
    const values = await find(since, until);
    const now = readValue(values, metric);
    if (now === null) return null;
    const isTooFew = (values?.requests ?? 0) < rule.min_requests;
    if (rule.compare === 'threshold') return { value: now, isTooFew };
    const before = await find(since - WEEK_MS, until - WEEK_MS);
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

  /** What changed in the week before the day on which a digest is due. */
  async readDigest(teamId: number, appId: number, rule: Rule, due: number): Promise<Digest> {
    const account = accountOf(teamId);
    const weeks = findWeeks(rule, due);
    const { window, baseline } = weeks;
    const filters = await this.readFilters(appId, rule);
    const read = async ({ start, end }: Window) => {
      const [values = null] = await this.query(teamId, appId, filters, start, end, DIGEST_METRICS);
      return Object.fromEntries(
        DIGEST_METRICS.map((name) => [name, readValue(values, name)]),
      ) as DigestValues;
    };
    const explain = async (measure: Measure) => {
      const input = Object.assign(new ExplainChangeInput(), {
        app_id: appId,
        body: {},
        measure,
        filters,
        limit: MAX_MOVES,
        compared: { ...weeks, now: Date.now() },
      });
      try {
        return (await this.services.changes.explain(account, input, ['endpoint'])).data;
      } catch (error) {
        // The app has more endpoints than can be compared.
        if (error instanceof ValidationException) return [];
        throw error;
      }
    };
    const [now, before] = [await read(window), await read(baseline)];
    // Nothing changed; there may be many such apps.
    if (now.requests === 0 && before.requests === 0)
      return { window, now, before, consumers: NO_CONSUMERS, moves: NO_MOVES };
    return {
      window,
      now,
      before,
      consumers: await this.services.consumers.findMoved(account, appId, weeks, filters, MAX_NAMES),
      moves: {
        requests: await explain('requests'),
        errors: await explain('errors'),
        response_time: await explain('response_time'),
      },
    };
  }

  /** The values of all rules of a group, by those of their filters. */
  private queryGroup(
    teamId: number,
    appId: number,
    group: RuleGroup,
    since: number,
    until: number,
  ): Promise<Map<string, MetricValues>> {
    const read = async () => {
      const all = await Promise.all(group.rules.map((rule) => this.readFilters(appId, rule)));
      const [first = []] = all;
      // The rules have filters on the same fields, and the same patterns.
      const filters = first.map((filter, index): MetricFilter => {
        if (filter.op !== 'eq') return filter;
        const values = new Set(all.map((others) => others[index]?.value));
        return { field: filter.field, op: 'in', value: [...values] as string[] | number[] };
      });
      const fields = first.filter(({ op }) => op === 'eq').map(({ field }) => field);
      const metrics = METRICS.filter((name) => group.metrics.has(name));
      const rows = await this.query(teamId, appId, filters, since, until, metrics, fields);
      return new Map(rows.map((row) => [buildGroupKey(row, fields), row]));
    };
    const reading = group.queries.get(since) ?? read();
    group.queries.set(since, reading);
    return reading;
  }

  private async query(
    teamId: number,
    appId: number,
    filters: readonly MetricFilter[],
    since: number,
    until: number,
    metrics: readonly Metric[],
    group_by: readonly GroupField[] = [],
  ): Promise<(MetricsValues & MetricValues)[]> {
    const input = Object.assign(new QueryMetricsInput(), {
      app_id: appId,
      body: {},
      metrics,
      filters,
      group_by,
      window: { since, until, now: Date.now() },
    });
    return readJsonLines(await this.services.metrics.query(accountOf(teamId), input, 'ndjson'));
  }

  private async readFilters(appId: number, rule: Rule): Promise<MetricFilter[]> {
    if (rule.consumer === undefined) return toFilters(rule, undefined);
    const key = JSON.stringify([appId, rule.consumer]);
    const found = this.consumers.get(key) ?? this.store.findConsumer(appId, rule.consumer);
    this.consumers.set(key, found);
    return toFilters(rule, (await found) ?? NO_CONSUMER);
  }
}

/** The window and the filters of a rule. */
function describeQuery(appId: number, { window, env, method, path, consumer, group, status }: Rule): string {
  return JSON.stringify(
    [appId, window, env, method, path, consumer, group, status].map((part) => part ?? null),
  );
}

/** The window and the fields of the filters of a rule; of a pattern also its text. */
function describeShape(appId: number, { window, env, method, path, consumer, group, status }: Rule): string {
  const has = [env, method, consumer, group].map((part) => part !== undefined);
  const ofPath = path?.includes('*') ? path : path !== undefined;
  return JSON.stringify([appId, window, ...has, ofPath, status?.endsWith('xx') ?? null]);
}

/** The values of filters as `buildGroupKey` has those of a row. */
function describeValues(filters: readonly MetricFilter[]): string {
  return JSON.stringify(filters.filter(({ op }) => op === 'eq').map(({ value }) => value));
}
