import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { handleClientError } from '../http/client-error.js';
import { hasValidHost } from '../http/host.middleware.js';
import { listen } from '../http/listen.js';
import { type ReaderLimits, ResponseReaders } from '../http/response-readers.js';
import { CONTENT_TYPE } from '../../telemetry/metrics/instruments.js';
import type { Metrics } from '../../telemetry/metrics/metrics.js';

/** Serves `GET /metrics` on a separate port, so that clients of the API cannot read it. */
export class MetricsServer {
  private readonly readers = new ResponseReaders();

  private constructor(private readonly server: Server) {}

  /** @throws ConfigError or Error, in one line, if the address or the port is not available */
  static async listen(
    metrics: Metrics,
    port: number,
    host: string,
    readerLimits: ReaderLimits,
  ): Promise<MetricsServer> {
    const server = createServer({ requireHostHeader: false }, (request, response) => {
      const isServed = request.method === 'GET' && request.url?.split('?', 1)[0] === '/metrics';
      response.statusCode = hasValidHost(request) ? (isServed ? 200 : 404) : 400;
      response.setHeader('X-Content-Type-Options', 'nosniff');
      if (response.statusCode === 200) response.setHeader('Content-Type', CONTENT_TYPE).end(metrics.text());
      else response.end();
    });
    server.on('clientError', handleClientError);
    const metricsServer = new MetricsServer(server);
    metricsServer.readers.limit(readerLimits, metrics);
    metricsServer.readers.watch(server);
    await listen(server, 'METRICS_PORT', port, host);
    // The metrics server does not keep the process alive if the start fails later.
    server.unref();
    return metricsServer;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
