import type { Config } from '../config/config.js';
import { Metrics } from './metrics/metrics.js';
import { MetricsServer } from './metrics/metrics.server.js';
import { Tracing } from './tracing.js';

/**
 * What a process tells of itself beside its log. Both are null unless the configuration asks for them; there is one of
 * these in a process, however many applications it serves.
 */
export class Telemetry {
  static readonly none = new Telemetry(null, null);

  private constructor(
    readonly metrics: Metrics | null,
    readonly tracing: Tracing | null,
    private readonly server?: MetricsServer,
  ) {}

  /** @throws Error when the port of the metrics cannot be had. */
  static async open({ metricsPort, host, tracing }: Config): Promise<Telemetry> {
    const metrics = metricsPort === undefined ? null : new Metrics();
    const server = metrics && (await MetricsServer.listen(metrics, metricsPort ?? 0, host));
    return new Telemetry(metrics, tracing && (await Tracing.start(tracing)), server ?? undefined);
  }

  /** To be called when everything else has ended: sends the last spans. */
  async close(): Promise<void> {
    await Promise.all([this.tracing?.close(), this.server?.close()]);
    this.metrics?.close();
  }
}
