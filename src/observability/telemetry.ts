import type { Config } from '../config/config.js';
import type { Metrics } from './metrics/metrics.js';
import type { MetricsServer } from './metrics/metrics.server.js';
import type { Tracing } from './tracing.js';

/**
 * Metrics and traces of a process. Both are null unless configured. There is one instance per process, also with several
 * applications. Only a process with metrics or traces loads their code: commands have neither.
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
    const served = metricsPort === undefined ? undefined : await serveMetrics(metricsPort, host);
    const started = tracing && (await (await import('./tracing.js')).Tracing.start(tracing));
    return new Telemetry(served?.metrics ?? null, started, served?.server);
  }

  /** The same without traces. */
  withoutTracing(): Telemetry {
    return new Telemetry(this.metrics, null);
  }

  /** Call after everything else has stopped: exports the last spans. */
  async close(): Promise<void> {
    await Promise.all([this.tracing?.close(), this.server?.close()]);
    this.metrics?.close();
  }
}

async function serveMetrics(port: number, host: string) {
  const { Metrics } = await import('./metrics/metrics.js');
  const { MetricsServer } = await import('./metrics/metrics.server.js');
  const metrics = new Metrics();
  return { metrics, server: await MetricsServer.listen(metrics, port, host) };
}
