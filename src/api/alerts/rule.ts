import { z } from 'zod';
import { parseTimezone } from '../../platform/input/timezone.js';
import type { MetricFilter } from '../app-metrics/app-metrics.input.js';
import { METRICS, type Metric } from '../app-metrics/metric-names.js';
import { DAYS } from './days.js';

/** Metrics of Query Metrics that are numbers. */
const NUMBERS = METRICS.filter((name) => name !== 'response_time_histogram');
/** What a rule may be about: metrics, minutes without data, errors that are new, a digest of each week. */
export const ALERT_METRICS = [...NUMBERS, 'silence', 'new_errors', 'weekly'] as const;
export const ALERT_OPERATORS = ['gt', 'gte', 'lt', 'lte'] as const;
export const COMPARISONS = ['threshold', 'last_week'] as const;
export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export const ALERT_STATES = ['ok', 'pending', 'firing', 'no_data', 'muted'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

export const CHANNELS = ['webhook', 'slack', 'teams', 'email'] as const;
export interface Channel {
  readonly kind: (typeof CHANNELS)[number];
  /** A URL, which may be a secret, or an address of e-mail. */
  readonly target: string;
}

const MAX_WINDOW_MINUTES = 7 * 24 * 60;
const MINUTES = { m: 1, h: 60, d: 1_440 } as const;

/** `10m`, `2h` or `1d`, in minutes. */
const WINDOW = z
  .string()
  .regex(/^\d{1,4}[mhd]$/, 'must be a time such as 10m, 2h or 1d')
  .transform((text) => Number(text.slice(0, -1)) * MINUTES[text.at(-1) as keyof typeof MINUTES])
  .pipe(z.int().min(1).max(MAX_WINDOW_MINUTES, 'must be 7d at most'));

const NAME = z.string().min(1).max(1_024);

export const RULE = z
  .strictObject({
    metric: z.enum(ALERT_METRICS),
    op: z.enum(ALERT_OPERATORS).default('gt'),
    /** With `last_week`, the relative change to the same window a week before: 0.5 is half more. */
    value: z.number().default(0),
    compare: z.enum(COMPARISONS).default('threshold'),
    window: WINDOW.prefault('10m'),
    min_requests: z.int().min(0).default(0),
    /** Fires if this many of the last `of` windows break the rule. */
    for: z.int().min(1).max(60).default(1),
    of: z.int().min(1).max(60).optional(),
    severity: z.enum(SEVERITIES).default('warning'),
    env: NAME.optional(),
    method: NAME.optional(),
    /** `*` matches any characters. */
    path: NAME.optional(),
    consumer: NAME.optional(),
    group: NAME.optional(),
    status: z
      .string()
      .regex(/^[1-5](?:xx|\d\d)$/, 'must be a status such as 404 or 5xx')
      .optional(),
    /** Hours of each day in which nothing is told. */
    quiet: z
      .string()
      .regex(/^(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be hours such as 22:00-06:00')
      .optional(),
    timezone: z
      .string()
      .refine((zone) => typeof parseTimezone(zone) === 'string', 'must be an IANA timezone')
      .default('UTC'),
    /** When a digest is sent, in `timezone`. */
    day: z.enum(DAYS).optional(),
    at: z
      .string()
      .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 09:00')
      .optional(),
  })
  .refine((rule) => (rule.of ?? rule.for) >= rule.for, { path: ['of'], message: 'must not be below `for`' })
  .refine((rule) => !ONLY_ENV.has(rule.metric) || !FILTERS.some((name) => rule[name] !== undefined), {
    path: ['metric'],
    message: 'silence and weekly have the filter env alone',
  })
  .refine((rule) => rule.metric === 'weekly' || (rule.day ?? rule.at) === undefined, {
    path: ['metric'],
    message: 'only weekly has a day and a time',
  })
  .refine((rule) => rule.metric !== 'weekly' || LIMITS.every(([name, none]) => rule[name] === none), {
    path: ['metric'],
    message: 'weekly has no limit: no op, value, window, min_requests, for, of, and no comparison',
  })
  .refine((rule) => rule.metric !== 'new_errors' || (rule.status ?? rule.group) === undefined, {
    path: ['metric'],
    message: 'new_errors has no filter by status or group',
  })
  .refine((rule) => rule.compare === 'threshold' || NUMBERS.some((name) => name === rule.metric), {
    path: ['compare'],
    message: 'only metrics of Query Metrics are compared with the week before',
  });

const FILTERS = ['method', 'path', 'consumer', 'group', 'status'] as const;
const ONLY_ENV: ReadonlySet<string> = new Set(['silence', 'weekly']);
/** Members that say when a rule fires, and their defaults. */
const LIMITS = [
  ['op', 'gt'],
  ['value', 0],
  ['window', 10],
  ['min_requests', 0],
  ['for', 1],
  ['of', undefined],
  ['compare', 'threshold'],
] as const;

/** A rule as it is stored. */
export type Rule = z.output<typeof RULE>;
export type RuleInput = z.input<typeof RULE>;

const SIGNS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** `error_rate > 0.05 over 10m`. */
export function describeRule({ metric, op, value, compare, window, env, ...others }: Rule): string {
  const filters = [...(env === undefined ? [] : [`env ${env}`])];
  for (const name of FILTERS) if (others[name] !== undefined) filters.push(`${name} ${others[name]}`);
  const of = filters.length === 0 ? '' : ` (${filters.join(', ')})`;
  if (metric === 'silence') return `no data for ${describeMinutes(window)}${of}`;
  if (metric === 'weekly') {
    const { day, at } = readSchedule(others);
    return `digest of the week${of}, each ${day} at ${at} ${others.timezone}`;
  }
  const change = compare === 'last_week' ? 'change to last week of ' : '';
  return `${change}${metric}${of} ${SIGNS[op]} ${value} over ${describeMinutes(window)}`;
}

/** When a digest is sent. */
export function readSchedule({ day = 'monday', at = '09:00' }: Pick<Rule, 'day' | 'at'>) {
  return { day, at };
}

const CONDITION = /^\s*(\w+)\s*([<>]=?)\s*([-+.\de]+)\s+over\s+(\S+)\s*$/i;

/**
 * The members of a rule that `error_rate < 0.01 over 10m` names; undefined for a text of another form. They
 * are not checked yet.
 */
export function parseCondition(text: string): object | undefined {
  const [, metric, sign, value, window] = CONDITION.exec(text) ?? [];
  const op = ALERT_OPERATORS.find((name) => SIGNS[name] === sign);
  return op && { metric, op, value: Number(value), window };
}

/** Each issue with its place, on one line. */
export function describeIssues(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.') || 'the rule'}: ${message}`).join('; ');
}

/** The values of Query Metrics over a window, which is one row. */
export type MetricValues = Partial<Record<Metric, number | null>>;

/**
 * The value of a metric; null if there is none: no requests are 0 requests, but have no rate and no time.
 *
 * @param values null if there was no row
 */
export function readValue(values: MetricValues | null, metric: Metric): number | null {
  if (values) return values[metric] ?? null;
  return metric === 'requests' || metric === 'requests_per_minute' ? 0 : null;
}

/**
 * What a rule is about, as filters of Query Metrics.
 *
 * @param consumerId of the consumer that the rule names
 */
export function toFilters(
  { env, method, path, group, status }: Rule,
  consumerId: number | undefined,
): MetricFilter[] {
  const filters: MetricFilter[] = [];
  if (env !== undefined) filters.push({ field: 'env', op: 'eq', value: env });
  if (method !== undefined) filters.push({ field: 'method', op: 'eq', value: method.toUpperCase() });
  if (path !== undefined) filters.push(filterPath(path));
  if (consumerId !== undefined) filters.push({ field: 'consumer_id', op: 'eq', value: consumerId });
  if (group !== undefined) filters.push({ field: 'consumer_group', op: 'eq', value: group });
  if (status?.endsWith('xx')) filters.push({ field: 'status_class', op: 'eq', value: status });
  else if (status !== undefined) filters.push({ field: 'status_code', op: 'eq', value: Number(status) });
  return filters;
}

/** A pattern with `*`, as one of LIKE. */
function filterPath(path: string): MetricFilter {
  if (!path.includes('*')) return { field: 'path', op: 'eq', value: path };
  return { field: 'path', op: 'like', value: path.replace(/[\\%_]/g, '\\$&').replace(/\*+/g, '%') };
}

/** Whether a measured value is beyond the limit of a rule. */
export function isBeyond({ metric, window, op, value }: Rule, measured: number): boolean {
  if (metric === 'silence') return measured >= window;
  switch (op) {
    case 'gt':
      return measured > value;
    case 'gte':
      return measured >= value;
    case 'lt':
      return measured < value;
    case 'lte':
      return measured <= value;
  }
}

function describeMinutes(minutes: number): string {
  if (minutes % MINUTES.d === 0) return `${minutes / MINUTES.d}d`;
  return minutes % MINUTES.h === 0 ? `${minutes / MINUTES.h}h` : `${minutes}m`;
}
