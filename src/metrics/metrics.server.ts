import { type Server, createServer } from 'node:http';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Metrics } from './metrics.js';

/** Serves `/metrics` on a port of its own, so that what faces clients never shows it. Off unless a port is set. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server?: Server;

  constructor(
    private readonly config: Config,
    private readonly metrics: Metrics,
  ) {}

  async onApplicationBootstrap() {
    const { metricsPort, host } = this.config;
    if (metricsPort === undefined) return;
    const { registry } = this.metrics;
    const server = createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      registry.metrics().then(
        (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    });
    await new Promise<void>((ok, no) => {
      server.once('error', no).listen(metricsPort, host, ok);
    });
    this.server = server;
    new Logger(MetricsServer.name).log(`metrics on port ${metricsPort}`);
  }

  onApplicationShutdown() {
    this.server?.close();
    this.server?.closeAllConnections();
  }
}
