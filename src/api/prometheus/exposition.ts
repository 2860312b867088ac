import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { Request } from 'express';
import { Slices } from '../../shared/async/slices.js';
import { SIZE_BOUNDS, TIME_BOUNDS, findFirstBins } from './prometheus.repository.js';
import type { BucketCounts, SeriesBuckets, SeriesCounts } from './prometheus.repository.js';

/** Media types of the two formats that Prometheus reads, each as it names it. The first is the default. */
export const EXPOSITION_TYPES = {
  'text/plain': 'text/plain; version=0.0.4; charset=utf-8',
  'application/openmetrics-text': 'application/openmetrics-text; version=1.0.0; charset=utf-8',
} as const;
export type ExpositionFormat = keyof typeof EXPOSITION_TYPES;

/**
 * OpenMetrics for a client that can read it. Prometheus names a version with each type, which the negotiation
 * of Express would take for another type.
 */
export const AcceptedExposition = createParamDecorator(
  (_: unknown, context: ExecutionContext): ExpositionFormat =>
    /\bapplication\/openmetrics-text\b/i.test(
      context.switchToHttp().getRequest<Request>().headers.accept ?? '',
    )
      ? 'application/openmetrics-text'
      : 'text/plain',
);

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

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: string;
  readonly help: string;
}

interface HistogramFamily extends Family {
  readonly bounds: readonly number[];
  readonly read: (buckets: SeriesBuckets) => BucketCounts;
  readonly sum: (series: Series) => number;
}

const APPS: Family = {
  name: 'request_analytics_app_info',
  type: 'gauge',
  help: 'The name of each app, to join with.',
};

const REQUESTS: Family = {
  name: 'http_server_requests',
  type: 'counter',
  help: 'Requests since the start of the month (UTC), also those without a measured time.',
};

const HISTOGRAMS: readonly HistogramFamily[] = [
  {
    name: 'http_server_request_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    help: 'Response times. A bucket reaches up to 2.2 % beyond its bound, and the sum is within 1.1 %.',
    bounds: TIME_BOUNDS,
    read: ({ times }) => times,
    sum: ({ buckets }) => buckets?.seconds ?? 0,
  },
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
  yield* writeFamily(total, series, isOpenMetrics, (one) => [
    `${REQUESTS.name}_total${writeLabels(nameLabels(one))} ${toCounter(one.counts.requests)}\n`,
  ]);
  for (const family of HISTOGRAMS)
    yield* writeFamily(family, series, isOpenMetrics, (one) => writeHistogram(family, one));
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

/** The buckets of a series, each with all requests up to its bound. */
function writeHistogram({ name, bounds, read, sum }: HistogramFamily, series: Series): string[] {
  const [bins, counts] = series.buckets ? read(series.buckets) : [[], []];
  const labels = nameLabels(series);
  const byBin = new Map(bins.map((bin, index) => [bin, counts[index] ?? 0]));
  let count = 0;
  const lines = findFirstBins(bounds).map((bin, index) => {
    count += byBin.get(bin) ?? 0;
    const bound = bounds[index];
    const le = bound === undefined ? '+Inf' : formatBound(bound);
    return `${name}_bucket${writeLabels({ ...labels, le })} ${toCounter(count)}\n`;
  });
  return [
    ...lines,
    `${name}_count${writeLabels(labels)} ${toCounter(count)}\n`,
    `${name}_sum${writeLabels(labels)} ${toCounter(sum(series))}\n`,
  ];
}

function nameLabels({ appId, counts: { env, method, route, status } }: Series) {
  return {
    app_id: appId,
    deployment_environment_name: env,
    http_request_method: method,
    http_route: route,
    http_response_status_code: status === 0 ? '' : status,
  };
}

/** Labels without a value are left out: both mean the same. */
function writeLabels(labels: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(labels).filter(([, value]) => value !== '');
  return `{${pairs.map(([name, value]) => `${name}="${escapeValue(String(value))}"`).join(',')}}`;
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
function toCounter(value: number): number {
  return Math.max(0, value);
}
