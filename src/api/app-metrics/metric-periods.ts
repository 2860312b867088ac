import { minutesRetainedFrom, trafficRetainedFrom } from '../../config/retention.js';
import type { Grain } from '../../queries/calendar/buckets.js';
import {
  type Interval,
  firstWholePeriod,
  periodBounds,
  periodStart,
} from '../../queries/calendar/periods.js';
import { type PlacedVersions, type VersionSpan, placeVersions } from '../releases/version-timeline.js';
import { DAY_MS, MINUTE_SECONDS } from '../../shared/time/units.js';
import { type Source, chooseSources } from './sources.js';

const QUARTER_SECONDS = 900;

export interface PeriodRequest {
  /** Milliseconds since the epoch, like all times here. */
  readonly since: number;
  readonly until: number;
  readonly now: number;
  /** Without an interval, the whole window is one period. */
  readonly interval: Interval | undefined;
  readonly timezone: string;
  /** Whether the query filters or groups by consumer. */
  readonly byConsumer: boolean;
  /** The versions of the environments, if the query filters or groups by version. */
  readonly timeline?: readonly VersionSpan[] | undefined;
}

export interface MetricPeriods {
  /** Bounds of consecutive periods in seconds since the epoch; empty if no part of the window is retained. */
  readonly bounds: readonly number[];
  /** The tables that may be read, coarse to fine. */
  readonly grains: readonly Grain[];
  /** The tables of their rows. */
  readonly sources: readonly Source[];
  /** The versions of the buckets. The sources split no bucket. */
  readonly versions?: PlacedVersions | undefined;
}

/**
 * Plans the periods of a window within the retention, and the tables to sum. A window that begins before the
 * retention is cut without an error.
 */
export function planPeriods(request: PeriodRequest): MetricPeriods {
  const { now, interval, byConsumer, timeline } = request;
  const bounds = interval === undefined ? getWindowBounds(request) : getPeriodBounds(request, interval);
  const hasMinutes = (bounds[0] ?? 0) >= toSeconds(minutesRetainedFrom(now));
  const coarse: Grain[] = byConsumer ? ['15m_by_consumer'] : ['day', 'hour', '15m'];
  const grains: Grain[] = [
    ...(interval === 'minute' ? [] : coarse),
    ...(hasMinutes ? ['minute' as const] : []),
  ];
  const [from = 0, to = 0] = [bounds[0], bounds.at(-1)];
  const step = hasMinutes ? MINUTE_SECONDS : QUARTER_SECONDS;
  return withSources(bounds, grains, timeline && placeVersions(timeline, { from, to }, step));
}

/** The periods that begin after `after`, up to the one that begins at `last`. */
export function slicePeriods(
  { bounds, grains, versions }: MetricPeriods,
  after = -Infinity,
  last = Infinity,
): MetricPeriods {
  const [from, to] = [bounds.findIndex((bound) => bound > after), bounds.findIndex((bound) => bound > last)];
  return withSources(bounds.slice(from, to < 0 ? undefined : to + 1), grains, versions);
}

function withSources(
  bounds: readonly number[],
  grains: readonly Grain[],
  versions: PlacedVersions | undefined,
): MetricPeriods {
  const sources = bounds.length === 0 ? [] : chooseSources(bounds, grains, versions?.cuts);
  return { bounds, grains, sources, versions };
}

function getPeriodBounds({ since, until, now, timezone }: PeriodRequest, interval: Interval): number[] {
  const retainedFrom = interval === 'minute' ? minutesRetainedFrom(now) : trafficRetainedFrom(now);
  const from = Math.max(
    periodStart(Math.floor(since / 1000), timezone, interval),
    firstWholePeriod(toSeconds(retainedFrom), timezone, interval),
  );
  return periodBounds(from, toSeconds(limitEnd(until, now)), timezone, interval);
}

/** Rounded to the minute if minutes are retained, otherwise to the quarter-hour. */
function getWindowBounds({ since, until, now }: PeriodRequest): number[] {
  const hasMinutes = since >= minutesRetainedFrom(now);
  const step = hasMinutes ? MINUTE_SECONDS : QUARTER_SECONDS;
  const retainedFrom = hasMinutes ? minutesRetainedFrom(now) : trafficRetainedFrom(now);
  const from = Math.max(Math.floor(since / 1000 / step), Math.ceil(retainedFrom / 1000 / step)) * step;
  const to = Math.ceil(limitEnd(until, now) / 1000 / step) * step;
  return from < to ? [from, to] : [];
}

/** No request is in the future; a distant end would only create many empty periods. */
function limitEnd(until: number, now: number): number {
  return Math.min(until, now + 2 * DAY_MS);
}

/** Rounds up to a whole second. */
function toSeconds(epochMs: number): number {
  return Math.ceil(epochMs / 1000);
}
