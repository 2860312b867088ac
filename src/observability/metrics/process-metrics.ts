import { readdirSync } from 'node:fs';
import {
  type PerformanceEntry,
  PerformanceObserver,
  constants,
  monitorEventLoopDelay,
  performance,
} from 'node:perf_hooks';
import { Counter, Gauge, type Metric } from './instruments.js';

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
const EVENT_LOOP_RESOLUTION_MS = 20;

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

/** Processor, memory, event loop and garbage collection of this process, by the names that Prometheus' clients use. */
export class ProcessMetrics {
  readonly all: readonly Metric[];
  private readonly eventLoop = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS });
  private readonly collections: PerformanceObserver;

  constructor() {
    const pauses = new Counter({
      name: 'nodejs_gc_pause_seconds_total',
      help: 'Time spent in garbage collection',
      labels: ['kind'],
    });
    this.collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as CollectionEntry[])
        pauses.add([COLLECTIONS[entry.detail?.kind ?? 0] ?? 'other'], entry.duration / 1000);
    });
    this.collections.observe({ entryTypes: ['gc'] });
    this.eventLoop.enable();
    this.all = [...processor(), ...memory(), this.eventLoopDelay(), pauses];
  }

  close() {
    this.eventLoop.disable();
    this.collections.disconnect();
  }

  private eventLoopDelay(): Metric {
    const spec = {
      name: 'nodejs_eventloop_lag_seconds',
      help: 'Event loop delay since the last scrape',
      labels: ['quantile'],
    };
    return new Gauge(spec, () => {
      const { eventLoop } = this;
      // The histogram includes the timer's resolution of 20 ms; only the excess is lag.
      const lag = (nanoseconds: number) =>
        Math.max(0, nanoseconds / NANOSECONDS - EVENT_LOOP_RESOLUTION_MS / 1000);
      const samples = [0.5, 0.9, 0.99].map((quantile) => ({
        values: [quantile],
        value: eventLoop.count === 0 ? 0 : lag(eventLoop.percentile(quantile * 100)),
      }));
      samples.push({ values: [1], value: eventLoop.count === 0 ? 0 : lag(eventLoop.max) });
      eventLoop.reset();
      return samples;
    });
  }
}

function processor(): Metric[] {
  const cpu = { name: 'process_cpu_seconds_total', help: 'Processor time of this process, user and system' };
  const start = {
    name: 'process_start_time_seconds',
    help: 'When this process started, since the Unix epoch',
  };
  return [
    new Gauge(
      cpu,
      () => {
        const { user, system } = process.cpuUsage();
        return [{ value: (user + system) / MICROSECONDS }];
      },
      'counter',
    ),
    new Gauge(start, () => [{ value: performance.timeOrigin / 1000 }]),
  ];
}

function memory(): Metric[] {
  const resident = {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory, including the embedded engine',
  };
  const heap = {
    name: 'nodejs_memory_bytes',
    help: 'Memory of Node: heap used, heap reserved, and external buffers',
    labels: ['kind'],
  };
  const files = { name: 'process_open_fds', help: 'Open files and connections (Linux)' };
  return [
    new Gauge(resident, () => [{ value: process.memoryUsage.rss() }]),
    new Gauge(heap, () => {
      const { heapUsed, heapTotal, external } = process.memoryUsage();
      return [
        { values: ['heap_used'], value: heapUsed },
        { values: ['heap_total'], value: heapTotal },
        { values: ['external'], value: external },
      ];
    }),
    new Gauge(files, () => openFiles().map((value) => ({ value }))),
  ];
}

/** Undefined if the system does not report it. */
function openFiles(): number[] {
  try {
    return [readdirSync('/proc/self/fd').length];
  } catch {
    return [];
  }
}
