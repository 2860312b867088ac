import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { listen } from '../common/http/listen.js';
import { CONTENT_TYPE } from './instruments.js';
import type { Metrics } from './metrics.js';

/** Serves `GET /metrics` on a port of its own, so that what faces clients never shows it. */
export class MetricsServer {
  private constructor(private readonly server: Server) {}

  /** @throws ConfigError or Error, in one line, when the address or the port cannot be had. */
  static async listen(metrics: Metrics, port: number, host: string): Promise<MetricsServer> {
    const server = createServer(({ method, url }, response) => {
      if (method !== 'GET' || url?.split('?', 1)[0] !== '/metrics') response.writeHead(404).end();
      else response.writeHead(200, { 'Content-Type': CONTENT_TYPE }).end(metrics.text());
    });
    await listen(server, 'METRICS_PORT', port, host);
    // Nobody lives for their metrics: a start that fails later still ends.
    server.unref();
    return new MetricsServer(server);
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
