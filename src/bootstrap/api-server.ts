import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from '../app.module.js';
import { warnOfSharedDirectory } from '../clickhouse/embedded/data-directory.js';
import { Config } from '../config/config.js';
import { listen } from '../http/listen.js';
import { type LogDestination, createServerLogger } from '../observability/logger.js';
import { setUp } from './api-setup.js';
import { createApp } from './create-app.js';

/** A listening server. */
export interface RunningServer {
  app: NestExpressApplication;
  /** Reports not ready and closes connections after their response, but still serves. */
  drain(): void;
  /** Accepts no more connections, finishes requests in flight, then closes the store. */
  stop(): Promise<void>;
}

/**
 * Builds the application and listens on the configured address.
 *
 * @throws ConfigError, DataDirectoryInUse, errors of opening the store, and errors of `listen`
 */
export async function startServer(logs: LogDestination = 'stdout'): Promise<RunningServer> {
  const config = new Config();
  const logger = createServerLogger(config.logLevel, logs);
  const app = await createApp(AppModule, logger);
  const drain = setUp(app, config, logger);
  try {
    warnOfSharedDirectory(config, logger);
    await app.init();
    await listen(app.getHttpServer(), 'PORT', config.port, config.host);
  } catch (error) {
    await app.close();
    throw error;
  }
  logger.info({ port: config.port }, 'listening');
  return {
    app,
    drain: drain.begin,
    stop: () => {
      drain.begin();
      return app.close();
    },
  };
}
