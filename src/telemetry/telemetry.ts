import type { Metrics } from './metrics/metrics.js';
import type { Tracing } from './tracing.js';

/**
 * Metrics and traces of a process. Both are null unless configured. There is one instance per process, also
 * with several applications. `openTelemetry` makes it.
 */
export class Telemetry {
  static readonly none = new Telemetry(null, null);

  /** @param server what serves the metrics; it is closed with them */
  constructor(
    readonly metrics: Metrics | null,
    readonly tracing: Tracing | null,
    private readonly server?: { close(): Promise<void> },
  ) {}

  /** The same metrics without traces. */
  withoutTracing(): Telemetry {
    return new Telemetry(this.metrics, null);
  }

  /** Call after everything else has stopped: exports the last spans. */
  async close(): Promise<void> {
    await Promise.all([this.tracing?.close(), this.server?.close()]);
    this.metrics?.close();
  }
}
