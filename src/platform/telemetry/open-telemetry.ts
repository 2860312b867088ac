import type { Config } from '../../config/config.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import type { ReaderLimits } from '../http/response-readers.js';

/**
 * The configured metrics and traces of a process. Their code is only loaded if they are configured; commands
 * have neither.
 *
 * @throws Error if the port of the metrics is not available
 */
export async function openTelemetry({ metricsPort, host, tracing, readers }: Config): Promise<Telemetry> {
  const served = metricsPort === undefined ? undefined : await serveMetrics(metricsPort, host, readers);
  const started = tracing && (await (await import('../../telemetry/tracing.js')).Tracing.start(tracing));
  return new Telemetry(served?.metrics ?? null, started, served?.server);
}

async function serveMetrics(port: number, host: string, readerLimits: ReaderLimits) {
  const { Metrics } = await import('../../telemetry/metrics/metrics.js');
  const { MetricsServer } = await import('./metrics.server.js');
  const metrics = new Metrics();
  return { metrics, server: await MetricsServer.listen(metrics, port, host, readerLimits) };
}
