import { type MessageInitShape, create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { BINS_PER_OCTAVE } from '../../records/bins.js';
import { Slices } from '../../shared/async/slices.js';
import {
  APPS,
  type Family,
  HISTOGRAMS,
  type HistogramFamily,
  type Labels,
  NATIVE,
  REQUESTS,
  type ScrapedApp,
  type Series,
  countUpTo,
  nameLabels,
  toCounter,
} from './exposition.js';
import {
  type HistogramSchema,
  MetricFamilySchema,
  type MetricSchema,
  MetricType,
} from './generated/io/prometheus/client/metrics_pb.js';
import type { BucketCounts } from './prometheus.repository.js';

type MetricInit = MessageInitShape<typeof MetricSchema>;
type HistogramInit = MessageInitShape<typeof HistogramSchema>;

/**
 * 64 buckets per doubling. Bounds of bins are half a bin beside the powers that bound buckets, so a bin is
 * exactly two buckets.
 */
const SCHEMA = 6;
/** Values up to 2 ** -128 are in the bucket of 0, as in Prometheus' own clients. */
const ZERO_OCTAVE = -128;

/** Series of one part of a message; they are encoded without a pause. */
const SERIES_PER_PART = 5;

const TYPES = { counter: MetricType.COUNTER, gauge: MetricType.GAUGE, histogram: MetricType.HISTOGRAM };

/** A scrape as delimited messages of protobuf, one for each metric. Times are native histograms as well. */
export async function* writeProtobuf(
  apps: readonly ScrapedApp[],
  series: readonly Series[],
): AsyncGenerator<Buffer> {
  yield* writeFamily(APPS, apps, ({ id, name }) => ({
    label: toPairs({ app_id: id, app_name: name }),
    gauge: { value: 1 },
  }));
  yield* writeFamily({ ...REQUESTS, name: `${REQUESTS.name}_total` }, series, (entry) => ({
    label: toPairs(nameLabels(entry)),
    counter: { value: toCounter(entry.counts.requests) },
  }));
  for (const family of HISTOGRAMS)
    yield* writeFamily(family, series, (entry) => ({
      label: toPairs(nameLabels(entry)),
      histogram: toHistogram(family, entry),
    }));
}

/** The parts of a message one after the other are the whole message, so it is made in parts. */
async function* writeFamily<Item>(
  { name, help, type, unit }: Family,
  items: readonly Item[],
  toMetric: (item: Item) => MetricInit,
): AsyncGenerator<Buffer> {
  const encode = (part: MessageInitShape<typeof MetricFamilySchema>) =>
    toBinary(MetricFamilySchema, create(MetricFamilySchema, part));
  const parts = [encode({ name, help, type: TYPES[type], ...(unit !== undefined && { unit }) })];
  const work = new Slices();
  for (let start = 0; start < items.length; start += SERIES_PER_PART) {
    if (work.isOver) await work.giveWay();
    parts.push(encode({ metric: items.slice(start, start + SERIES_PER_PART).map(toMetric) }));
  }
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  yield Buffer.from(new BinaryWriter().uint32(size).finish());
  for (const part of parts) yield Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}

function toPairs(labels: Labels) {
  return Object.entries(labels).map(([name, value]) => ({ name, value: String(value) }));
}

function toHistogram(family: HistogramFamily, series: Series): HistogramInit {
  const counts = countUpTo(family, series).map((count) => BigInt(toCounter(count)));
  return {
    sampleCount: counts.at(-1) ?? 0n,
    sampleSum: toCounter(family.sum(series)),
    bucket: counts.map((cumulativeCount, index) => ({
      cumulativeCount,
      upperBound: family.bounds[index] ?? Infinity,
    })),
    ...(family === NATIVE && toNative(series.buckets ? family.read(series.buckets) : [[], []])),
  };
}

/**
 * The native histogram of bins. The requests of a bin are divided between its two buckets, which says
 * nothing: it is known only that they are in one of them.
 */
function toNative([bins, counts]: BucketCounts): HistogramInit {
  const spans: { offset: number; length: number }[] = [];
  const deltas: bigint[] = [];
  let zeroCount = 0;
  let end = 0;
  let before = 0;
  for (const [index, bin] of bins.entries()) {
    const count = toCounter(counts[index] ?? 0);
    if (bin <= ZERO_OCTAVE * BINS_PER_OCTAVE) {
      zeroCount += count;
      continue;
    }
    const lower = 2 * bin;
    const last = spans.at(-1);
    if (last && lower === end) last.length += 2;
    else spans.push({ offset: lower - end, length: 2 });
    end = lower + 2;
    const half = Math.floor(count / 2);
    deltas.push(BigInt(half - before), BigInt(count - half - half));
    before = count - half;
  }
  return {
    schema: SCHEMA,
    zeroThreshold: 2 ** ZERO_OCTAVE,
    zeroCount: BigInt(zeroCount),
    positiveSpan: spans,
    positiveDelta: deltas,
  };
}
