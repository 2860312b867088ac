import type { Config } from '../config/config.js';
import { Metrics } from './metrics/metrics.js';
import { MetricsServer } from './metrics/metrics.server.js';
import { Tracing } from './tracing.js';

/**
 * Metrics and traces of a process. Both are null unless configured. There is one instance per process, also with several
 * applications.
 */
export class Telemetry {
  static readonly none = new Telemetry(null, null);

  private constructor(
    readonly metrics: Metrics | null,
    readonly tracing: Tracing | null,
    private readonly server?: MetricsServer,
  ) {}

  /** @throws Error if the port of the metrics is not available */
  static async open({ metricsPort, host, tracing }: Config): Promise<Telemetry> {
    const metrics = metricsPort === undefined ? null : new Metrics();
    const server = metrics && (await MetricsServer.listen(metrics, metricsPort ?? 0, host));
    return new Telemetry(metrics, tracing && (await Tracing.start(tracing)), server ?? undefined);
  }

  /** Call after everything else has stopped: exports the last spans. */
  async close(): Promise<void> {
    await Promise.all([this.tracing?.close(), this.server?.close()]);
    this.metrics?.close();
  }
}
