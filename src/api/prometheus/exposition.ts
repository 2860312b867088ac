import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { Request } from 'express';
import { Slices } from '../../shared/async/slices.js';
import { findBin } from '../../records/bins.js';
import { SIZE_BOUNDS, TIME_BOUNDS } from './prometheus.repository.js';
import type { BucketCounts, SeriesBuckets, SeriesCounts } from './prometheus.repository.js';

/** Media types of the formats that Prometheus reads, each as it names it. The first is the default. */
export const EXPOSITION_TYPES = {
  'text/plain': 'text/plain; version=0.0.4; charset=utf-8',
  'application/openmetrics-text': 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  'application/vnd.google.protobuf':
    'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
} as const;
export type ExpositionFormat = keyof typeof EXPOSITION_TYPES;

/** How clients name the formats. Of equally good ones the first counts. */
const RANGES: Readonly<Record<ExpositionFormat, RegExp>> = {
  'application/openmetrics-text': /^application\/openmetrics-text\b/i,
  'text/plain': /^text\/plain\b/i,
  // The same type has forms of text as well, which differ in their encoding.
  'application/vnd.google.protobuf':
    /^application\/vnd\.google\.protobuf\b(?=.*\bproto="?io\.prometheus\.client\.metricfamily\b)(?=.*\bencoding="?delimited\b)/i,
};

/**
 * The format that a client prefers. Prometheus names a version with each type, which the negotiation of
 * Express would take for another type.
 */
export const AcceptedExposition = createParamDecorator(
  (_: unknown, context: ExecutionContext): ExpositionFormat =>
    findFormat(context.switchToHttp().getRequest<Request>().headers.accept ?? ''),
);

function findFormat(accept: string): ExpositionFormat {
  const ranges = accept.split(',').map((range) => range.trim());
  let best: ExpositionFormat = 'text/plain';
  let bestQuality = 0;
  for (const [format, pattern] of Object.entries(RANGES) as [ExpositionFormat, RegExp][]) {
    const quality = Math.max(0, ...ranges.filter((range) => pattern.test(range)).map(readQuality));
    if (quality > bestQuality) [best, bestQuality] = [format, quality];
  }
  return best;
}

function readQuality(range: string): number {
  const [, quality] = /;\s*q=([\d.]+)/i.exec(range) ?? [];
  return quality === undefined ? 1 : Number(quality);
}

/** A series as a scrape has it. */
export interface Series {
  readonly appId: number;
  readonly counts: SeriesCounts;
  /** Undefined: no time and no size is known. */
  readonly buckets: SeriesBuckets | undefined;
}

export interface ScrapedApp {
  readonly id: number;
  readonly name: string;
}

export type Labels = Readonly<Record<string, string | number>>;

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: string;
  readonly help: string;
}

export interface HistogramFamily extends Family {
  readonly bounds: readonly number[];
  readonly read: (buckets: SeriesBuckets) => BucketCounts;
  readonly sum: (series: Series) => number;
}

export const APPS: Family = {
  name: 'request_analytics_app_info',
  type: 'gauge',
  help: 'The name of each app, to join with.',
};

export const REQUESTS: Family = {
  name: 'http_server_requests',
  type: 'counter',
  help: 'Requests since the start of the month (UTC), also those without a measured time.',
};

/** The histogram that is a native one as well, in a format that has them. */
export const NATIVE: HistogramFamily = {
  name: 'http_server_request_duration_seconds',
  type: 'histogram',
  unit: 'seconds',
  help: 'Response times. A bucket reaches up to 2.2 % beyond its bound, and the sum is within 1.1 %.',
  bounds: TIME_BOUNDS,
  read: ({ times }) => times,
  sum: ({ buckets }) => buckets?.seconds ?? 0,
};

export const HISTOGRAMS: readonly HistogramFamily[] = [
  NATIVE,
  {
    name: 'http_server_request_body_size_bytes',
    type: 'histogram',
    unit: 'bytes',
    help: 'Sizes of requests. A bucket reaches up to 2.2 % beyond its bound.',
    bounds: SIZE_BOUNDS,
    read: ({ received }) => received,
    sum: ({ counts }) => counts.bytes_received,
  },
  {
    name: 'http_server_response_body_size_bytes',
    type: 'histogram',
    unit: 'bytes',
    help: 'Sizes of responses. A bucket reaches up to 2.2 % beyond its bound.',
    bounds: SIZE_BOUNDS,
    read: ({ sent }) => sent,
    sum: ({ counts }) => counts.bytes_sent,
  },
];

/** Series of one chunk of the response; their text is made without a pause. */
const SERIES_PER_CHUNK = 50;

/** The text of a scrape. All samples of a metric are together, as both formats require. */
export async function* writeExposition(
  apps: readonly ScrapedApp[],
  series: readonly Series[],
  format: ExpositionFormat,
): AsyncGenerator<Buffer> {
  const isOpenMetrics = format === 'application/openmetrics-text';
  yield Buffer.from(
    [
      ...describeFamily(APPS, isOpenMetrics),
      ...apps.map(({ id, name }) => `${APPS.name}${writeLabels({ app_id: id, app_name: name })} 1\n`),
    ].join(''),
  );
  const total = isOpenMetrics ? REQUESTS : { ...REQUESTS, name: `${REQUESTS.name}_total` };
  yield* writeFamily(total, series, isOpenMetrics, (entry) => [
    `${REQUESTS.name}_total${writeLabels(nameLabels(entry))} ${toCounter(entry.counts.requests)}\n`,
  ]);
  for (const family of HISTOGRAMS)
    yield* writeFamily(family, series, isOpenMetrics, (entry) => writeHistogram(family, entry));
  if (isOpenMetrics) yield Buffer.from('# EOF\n');
}

async function* writeFamily(
  family: Family,
  series: readonly Series[],
  isOpenMetrics: boolean,
  write: (series: Series) => readonly string[],
): AsyncGenerator<Buffer> {
  yield Buffer.from(describeFamily(family, isOpenMetrics).join(''));
  const work = new Slices();
  for (let start = 0; start < series.length; start += SERIES_PER_CHUNK) {
    if (work.isOver) await work.giveWay();
    yield Buffer.from(
      series
        .slice(start, start + SERIES_PER_CHUNK)
        .flatMap(write)
        .join(''),
    );
  }
}

function describeFamily({ name, type, unit, help }: Family, isOpenMetrics: boolean): string[] {
  return [
    `# TYPE ${name} ${type}\n`,
    ...(isOpenMetrics && unit !== undefined ? [`# UNIT ${name} ${unit}\n`] : []),
    `# HELP ${name} ${help}\n`,
  ];
}

function writeHistogram(family: HistogramFamily, series: Series): string[] {
  const { name, bounds, sum } = family;
  const labels = nameLabels(series);
  const counts = countUpTo(family, series).map(toCounter);
  const lines = counts.map((count, index) => {
    const bound = bounds[index];
    const le = bound === undefined ? '+Inf' : formatBound(bound);
    return `${name}_bucket${writeLabels({ ...labels, le })} ${count}\n`;
  });
  return [
    ...lines,
    `${name}_count${writeLabels(labels)} ${counts.at(-1)}\n`,
    `${name}_sum${writeLabels(labels)} ${toCounter(sum(series))}\n`,
  ];
}

/**
 * The requests of a series up to each bound, and all of them. The bin of the bound itself is among them, as
 * its requests with exactly this value must be; so a bucket reaches up to 2.2 % beyond its bound.
 */
export function countUpTo({ bounds, read }: HistogramFamily, { buckets }: Series): number[] {
  const [bins, counts] = buckets ? read(buckets) : [[], []];
  let count = 0;
  let index = 0;
  return [...bounds.map(findBin), Infinity].map((last) => {
    for (; (bins[index] ?? Infinity) <= last && index < bins.length; index++) count += counts[index] ?? 0;
    return count;
  });
}

/** Labels without a value are left out: both mean the same. */
export function nameLabels({ appId, counts: { env, method, route, status } }: Series) {
  return leaveOutEmpty({
    app_id: appId,
    deployment_environment_name: env,
    http_request_method: method,
    http_route: route,
    http_response_status_code: status === 0 ? '' : status,
  });
}

function leaveOutEmpty(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''));
}

function writeLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(String(value))}"`);
  return `{${pairs.join(',')}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

function escapeValue(value: string): string {
  return value.replaceAll(/[\\"\n]/g, (character) => ESCAPES[character] ?? '');
}

/** OpenMetrics requires the point in a bound. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

/** Counts that were taken back in another order than they came must not be negative. */
export function toCounter(value: number): number {
  return Math.max(0, value);
}
