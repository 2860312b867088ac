/**
 * The three kinds of metrics in Prometheus' text format, version 0.0.4. docs/decisions/0013-metrics.md says
 * why this is not a package.
 */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Name, help and label names of a metric. */
export interface MetricSpec {
  name: string;
  help: string;
  labels?: readonly string[];
}

/** Values of labels, in the order of their names. Each label must have few different values. */
type LabelValues = readonly (string | number)[];

export interface MetricSample {
  values?: LabelValues;
  value: number;
}

/** A metric in `/metrics`. */
export interface Metric {
  text(): string;
}

/** Series by the text of their labels. */
class Series<S> {
  private readonly all = new Map<string, { labels: string; state: S }>();

  constructor(
    private readonly names: readonly string[],
    private readonly create: () => S,
  ) {}

  /** The state of the series with these values, created at its first use. */
  get(values: LabelValues): S {
    const key = values.length === 1 ? String(values[0]) : values.join('\n');
    let series = this.all.get(key);
    if (!series)
      this.all.set(key, (series = { labels: formatLabels(this.names, values), state: this.create() }));
    return series.state;
  }

  map<R>(line: (labels: string, state: S) => R): R[] {
    return Array.from(this.all.values(), ({ labels, state }) => line(labels, state));
  }
}

/** A number that only grows. */
export class Counter implements Metric {
  private readonly series: Series<{ total: number }>;

  constructor(private readonly spec: MetricSpec) {
    this.series = new Series(spec.labels ?? [], () => ({ total: 0 }));
    // Without labels there is one series, which starts at 0.
    if (!spec.labels) this.series.get([]);
  }

  add(values: LabelValues, amount = 1): void {
    this.series.get(values).total += amount;
  }

  text(): string {
    const lines = this.series.map((labels, { total }) => formatSample(this.spec.name, labels, total));
    return head(this.spec, 'counter') + lines.join('');
  }
}

/** Values that are read at each scrape. */
export class Gauge implements Metric {
  constructor(
    private readonly spec: MetricSpec,
    private readonly read: () => readonly MetricSample[],
    private readonly kind: 'gauge' | 'counter' = 'gauge',
  ) {}

  text(): string {
    const names = this.spec.labels ?? [];
    const lines = this.read().map(({ values = [], value }) =>
      formatSample(this.spec.name, formatLabels(names, values), value),
    );
    return head(this.spec, this.kind) + lines.join('');
  }
}

/** A histogram: counts by upper bound, and the sum. */
export class Histogram implements Metric {
  private readonly series: Series<{ counts: number[]; sum: number }>;

  /** @param bounds inclusive upper bounds, ascending */
  constructor(
    private readonly spec: MetricSpec,
    private readonly bounds: readonly number[],
  ) {
    this.series = new Series(spec.labels ?? [], () => ({
      counts: Array.from({ length: bounds.length + 1 }, () => 0),
      sum: 0,
    }));
  }

  observe(values: LabelValues, value: number): void {
    const state = this.series.get(values);
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? Infinity)) bucket++;
    state.counts[bucket] = (state.counts[bucket] ?? 0) + 1;
    state.sum += value;
  }

  text(): string {
    const { name } = this.spec;
    const lines = this.series.map((labels, { counts, sum }) => {
      let total = 0;
      const buckets = counts.map((count, index) => {
        const bound = `le="${this.bounds[index] ?? '+Inf'}"`;
        return formatSample(`${name}_bucket`, labels === '' ? bound : `${labels},${bound}`, (total += count));
      });
      return (
        buckets.join('') +
        formatSample(`${name}_sum`, labels, sum) +
        formatSample(`${name}_count`, labels, total)
      );
    });
    return head(this.spec, 'histogram') + lines.join('');
  }
}

function head({ name, help }: MetricSpec, kind: string): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${kind}\n`;
}

function formatSample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${formatNumber(value)}\n`;
}

function formatNumber(value: number): string {
  return Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function formatLabels(names: readonly string[], values: LabelValues): string {
  return names.map((name, index) => `${name}="${escapeLabel(String(values[index] ?? ''))}"`).join(',');
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
