import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { AppModule } from '../app.module.js';
import { warnOfSharedDirectory } from '../clickhouse/embedded/data-directory.js';
import { ApiKeyRepository } from '../auth/api-key.repository.js';
import { Config } from '../config/config.js';
import { formatBaseUrl, listen } from '../http/listen.js';
import { type LogDestination, createServerLogger } from '../observability/logger.js';
import { setUp } from './api-setup.js';
import { createApp } from './create-app.js';

const NO_KEY =
  'There is no API key yet: npm run -s cli -- team create --name Acme, then npm run -s cli -- key create --team 1. ' +
  'npm run demo has sample data and a key.';

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
 * @param hasCollector whether the process runs the collector as well, as the dashboard then says
 * @throws ConfigError, DataDirectoryInUse, errors of opening the store, and errors of `listen`
 */
export async function startServer(
  logs: LogDestination = 'stdout',
  hasCollector = false,
): Promise<RunningServer> {
  const config = new Config();
  const logger = createServerLogger(config.logLevel, logs);
  const app = await createApp(AppModule, logger);
  const drain = setUp(app, config, logger, hasCollector);
  try {
    warnOfConfiguration(config, logger);
    await app.init();
    await listen(app.getHttpServer(), 'PORT', config.port, config.host);
  } catch (error) {
    await app.close();
    throw error;
  }
  const url = formatBaseUrl(config.host, config.port) + config.publicPath;
  logger.info({ port: config.port, url, ...(config.docs && { docs: `${url}/docs` }) }, 'listening');
  if (logs === 'stdout')
    printForPeople(
      `The API is at ${url}/v1${config.docs ? `, its reference at ${url}/docs` : ''}` +
        `${config.dashboard ? `, the dashboard at ${url}` : ''}. Ctrl+C stops it.`,
    );
  void reportMissingKey(app, logger);
  return {
    app,
    drain: drain.begin,
    stop: () => {
      drain.begin();
      return app.close();
    },
  };
}

/** Logs what the configuration leaves open by mistake: access of others to the data, and variables without effect. */
export function warnOfConfiguration(config: Config, logger: Logger): void {
  warnOfSharedDirectory(config, logger);
  for (const warning of config.warnings) logger.warn(warning);
}

/** Not awaited: the store may be slow, or not reachable yet, which the log says elsewhere. */
async function reportMissingKey(app: NestExpressApplication, logger: Logger): Promise<void> {
  const hasKey = await app
    .get(ApiKeyRepository)
    .hasAny()
    .catch(() => true);
  if (hasKey) return;
  logger.info(NO_KEY);
  printForPeople(NO_KEY);
}

/** On a terminal: the log has the same, as JSON. */
function printForPeople(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`);
}
