import { Temporal } from 'temporal-polyfill';
import type { Metric } from '../api/app-metrics/metric-names.js';
import type { Rule } from '../api/alerts/rule.js';
import type { ChangedGroup } from '../api/changes/changes.dto.js';
import type { Measure } from '../api/changes/measure-change.js';
import type { MovedConsumers } from '../api/consumers/consumers.service.js';
import type { Window } from '../shared/time/window.js';
import { toText } from './visible-text.js';

export const DIGEST_METRICS = [
  'requests',
  'client_errors',
  'server_errors',
  'error_rate',
  'response_time_p95',
] as const satisfies readonly Metric[];
export type DigestValues = Readonly<Record<(typeof DIGEST_METRICS)[number], number | null>>;

/** The week of an app, and the week before it. */
export interface Digest {
  readonly window: Window;
  readonly now: DigestValues;
  readonly before: DigestValues;
  /** Those with a first request, and those whose requests ended. */
  readonly consumers: Readonly<Record<'new' | 'quiet', MovedConsumers>>;
  /** The endpoints that changed most. */
  readonly moves: Readonly<
    Record<Extract<Measure, 'requests' | 'errors' | 'response_time'>, readonly ChangedGroup[]>
  >;
}

/** A digest as text for people, and its numbers for programs. */
export interface DescribedDigest {
  readonly summary: string;
  readonly lines: readonly string[];
  readonly values: Readonly<Record<string, string>>;
}

export function describeDigest(digest: Digest, { timezone, env }: Rule, appName: string): DescribedDigest {
  const { now, before, consumers, moves } = digest;
  const title = `${toText(appName)}${env === undefined ? '' : ` (env ${toText(env)})`}, ${describeDays(digest.window, timezone)}`;
  const [requests, requestsBefore] = [now.requests ?? 0, before.requests ?? 0];
  const values = listValues(digest);
  if (requests === 0 && requestsBefore === 0)
    return {
      summary: `${title}: no requests`,
      lines: [`${title}: no requests, as in the week before`],
      values,
    };
  const change = describeChange(requests, requestsBefore);
  const [p95, p95Before] = [now.response_time_p95, before.response_time_p95];
  return {
    summary: `${title}: ${requests} requests${change}, ${describeErrors(now)}, p95 ${describeTime(p95)}`,
    lines: [
      title,
      `Requests: ${requests}${change}, the week before ${requestsBefore}`,
      `Errors: ${describeErrors(now)}; the week before ${describeErrors(before)}`,
      `95th percentile of response times: ${describeTime(p95)}; the week before ${describeTime(p95Before)}`,
      ...describeConsumers('New consumers', consumers.new),
      ...describeConsumers('Consumers without requests, unlike the week before', consumers.quiet),
      ...describeMoves('Requests that changed most', moves.requests),
      ...describeMoves('Errors that changed most', moves.errors),
      ...describeMoves('95th percentiles that changed most', moves.response_time, ' ms'),
    ],
    values,
  };
}

/** The first and the last day. */
function describeDays({ start, end }: Window, timezone: string): string {
  const [first, last] = [start, end - 1].map((at) =>
    Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDate().toString(),
  );
  return `${first} to ${last} (${timezone})`;
}

function countErrors({ client_errors, server_errors }: DigestValues): number {
  return (client_errors ?? 0) + (server_errors ?? 0);
}

function describeErrors(values: DigestValues): string {
  const { error_rate } = values;
  const rate = error_rate === null ? '' : ` (${Number((error_rate * 100).toPrecision(3))} %)`;
  return `${countErrors(values)} errors${rate}`;
}

function describeTime(ms: number | null): string {
  return ms === null ? 'unknown' : `${ms} ms`;
}

function describeChange(now: number, before: number): string {
  if (before === 0) return '';
  const percent = Math.round((now / before - 1) * 100);
  return ` (${percent < 0 ? '' : '+'}${percent} %)`;
}

function describeConsumers(title: string, { consumers, names }: MovedConsumers): string[] {
  if (consumers === 0) return [];
  const more = consumers > names.length ? ', …' : '';
  return [`${title}: ${consumers} (${names.map(toText).join(', ')}${more})`];
}

function describeMoves(title: string, groups: readonly ChangedGroup[], unit = ''): string[] {
  if (groups.length === 0) return [];
  const moves = groups.map(({ method, path, now, before }) => {
    const name = toText(path == null ? 'no route' : `${method ?? ''} ${path}`.trim());
    const [from, to] = [before, now].map((value) => (value === null ? 'none' : `${value}${unit}`));
    return `${name} from ${from} to ${to}`;
  });
  return [`${title}: ${moves.join('; ')}`];
}

function listValues({ now, before, consumers }: Digest): Record<string, string> {
  const name = (values: DigestValues, suffix: string) =>
    Object.entries({
      requests: values.requests ?? 0,
      errors: countErrors(values),
      error_rate: values.error_rate,
      response_time_p95: values.response_time_p95,
    }).map(([key, value]) => [`${key}${suffix}`, value] as const);
  const all = [
    ...name(now, ''),
    ...name(before, '_before'),
    ['new_consumers', consumers.new.consumers],
    ['quiet_consumers', consumers.quiet.consumers],
  ] as const;
  return Object.fromEntries(all.flatMap(([key, value]) => (value === null ? [] : [[key, String(value)]])));
}
