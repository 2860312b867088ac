import { readdirSync } from 'node:fs';
import {
  type PerformanceEntry,
  PerformanceObserver,
  constants,
  monitorEventLoopDelay,
  performance,
} from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';
import { Gauge, Histogram, type Metric, type MetricSample } from './instruments.js';

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
const EVENT_LOOP_RESOLUTION_MS = 20;
const COLLECTION_BOUNDS_SECONDS = [0.001, 0.01, 0.1, 1, 2, 5];

/** Node's performance entry of a garbage collection. */
interface CollectionEntry extends PerformanceEntry {
  detail?: { kind?: number };
}

const COLLECTIONS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/**
 * Processor, memory, event loop and garbage collection of this process, under the names of the default
 * metrics of Prometheus' client for Node, so that the usual dashboards for Node work.
 */
export class ProcessMetrics {
  readonly all: readonly Metric[];
  private readonly eventLoop = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS });
  private readonly collections: PerformanceObserver;

  constructor() {
    const name = 'nodejs_gc_duration_seconds';
    const help = 'Time of garbage collections';
    const pauses = new Histogram({ name, help, labels: ['kind'] }, COLLECTION_BOUNDS_SECONDS);
    this.collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as CollectionEntry[])
        pauses.observe([COLLECTIONS[entry.detail?.kind ?? 0] ?? 'other'], entry.duration / 1000);
    });
    this.collections.observe({ entryTypes: ['gc'] });
    this.eventLoop.enable();
    this.all = [...processor(), ...memory(), ...this.eventLoopDelay(), pauses];
  }

  close() {
    this.eventLoop.disable();
    this.collections.disconnect();
  }

  /** How late timers were since the metrics were read last. */
  private eventLoopDelay(): Metric[] {
    const { eventLoop } = this;
    // The timer is due every 20 ms; only the time beyond that is lag.
    const lag = (name: string, statistic: string, read: () => number) =>
      gauge(
        `nodejs_eventloop_lag_${name}`,
        `Lag of the event loop since the last scrape: ${statistic}`,
        () =>
          eventLoop.count === 0 ? 0 : Math.max(0, read() / NANOSECONDS - EVENT_LOOP_RESOLUTION_MS / 1000),
      );
    return [
      lag('seconds', 'mean', () => eventLoop.mean),
      lag('p50_seconds', 'median', () => eventLoop.percentile(50)),
      lag('p90_seconds', 'percentile 90', () => eventLoop.percentile(90)),
      lag('p99_seconds', 'percentile 99', () => eventLoop.percentile(99)),
      // The metric that is read last begins the next interval.
      lag('max_seconds', 'longest', () => {
        const { max } = eventLoop;
        eventLoop.reset();
        return max;
      }),
    ];
  }
}

function processor(): Metric[] {
  const cpu = (name: string, help: string, read: (usage: NodeJS.CpuUsage) => number) =>
    gauge(name, help, () => read(process.cpuUsage()) / MICROSECONDS, 'counter');
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  return [
    cpu('process_cpu_user_seconds_total', 'Processor time of this process, user', ({ user }) => user),
    cpu('process_cpu_system_seconds_total', 'Processor time of this process, system', ({ system }) => system),
    cpu('process_cpu_seconds_total', 'Processor time, user and system', ({ user, system }) => user + system),
    gauge(
      'process_start_time_seconds',
      'When this process started, since the Unix epoch',
      () => performance.timeOrigin / 1000,
    ),
    gauges(
      'nodejs_version_info',
      'Always 1; the labels name the version',
      ['version', 'major', 'minor', 'patch'],
      () => [{ values: [process.version, major, minor, patch], value: 1 }],
    ),
    gauges('process_open_fds', 'Open files and connections (Linux)', [], countOpenFiles),
  ];
}

function memory(): Metric[] {
  const space = (
    name: 'space_size' | 'space_used_size' | 'space_available_size',
    metric: string,
    statistic: string,
  ) =>
    gauges(metric, `Heap of Node by space: ${statistic}`, ['space'], () =>
      getHeapSpaceStatistics().map((heapSpace) => ({
        values: [heapSpace.space_name.replace(/_space$/, '')],
        value: heapSpace[name],
      })),
    );
  return [
    gauge('process_resident_memory_bytes', 'Memory in use, the embedded engine included', () =>
      process.memoryUsage.rss(),
    ),
    gauge('nodejs_heap_size_total_bytes', 'Heap of Node: reserved', () => process.memoryUsage().heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Heap of Node: in use', () => process.memoryUsage().heapUsed),
    gauge(
      'nodejs_external_memory_bytes',
      'Buffers of Node outside of its heap',
      () => process.memoryUsage().external,
    ),
    space('space_size', 'nodejs_heap_space_size_total_bytes', 'reserved'),
    space('space_used_size', 'nodejs_heap_space_size_used_bytes', 'in use'),
    space('space_available_size', 'nodejs_heap_space_size_available_bytes', 'free'),
  ];
}

function gauge(name: string, help: string, read: () => number, kind?: 'gauge' | 'counter'): Metric {
  return new Gauge({ name, help }, () => [{ value: read() }], kind);
}

function gauges(name: string, help: string, labels: readonly string[], read: () => MetricSample[]): Metric {
  return new Gauge({ name, help, labels }, read);
}

/** No samples where the system does not tell the number. */
function countOpenFiles(): MetricSample[] {
  try {
    return [{ value: readdirSync('/proc/self/fd').length }];
  } catch {
    return [];
  }
}
