import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { AppModule } from '../../app.module.js';
import { warnOfSharedDirectory } from '../../store/embedded/data-directory.js';
import { ApiKeyRepository } from '../../access/keys/api-key.repository.js';
import { Config } from '../../config/config.js';
import { listen, requireFreePort } from '../../platform/http/listen.js';
import { type LogDestination, createServerLogger } from '../../telemetry/logger.js';
import { LocalCoordinator } from '../../coordination/writer-coordinator.js';
import { createAdmin } from '../../ops/admin/admin.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { setUp } from './api-setup.js';
import { createApp } from './create-app.js';
import { createFirstApp, describeFirstSteps, getAddresses, writeEnvFile } from './first-steps.js';

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
 * @param hasCollector whether the process also runs the collector, which the dashboard shows
 * @throws ConfigError, DataDirectoryInUse, errors of opening the store, and errors of `listen`
 */
export async function startServer(
  logs: LogDestination = 'stdout',
  hasCollector = false,
  config = new Config(),
): Promise<RunningServer> {
  await requireFreePort('PORT', config.port, config.host);
  const logger = createServerLogger(config.logLevel, logs);
  const app = await createApp(AppModule.on(config), logger);
  const drain = setUp(app, config, logger, hasCollector);
  try {
    warnOfConfiguration(config, logger);
    await app.init();
    await listen(app.getHttpServer(), 'PORT', config.port, config.host);
  } catch (error) {
    await app.close();
    throw error;
  }
  const { api: url, collector } = getAddresses(config);
  logger.info({ port: config.port, url, ...(config.docs && { docs: `${url}/docs` }) }, 'listening');
  if (logs === 'stdout')
    printForPeople(
      `The API is at ${url}/v1${config.docs ? `, its reference at ${url}/docs` : ''}` +
        `${config.dashboard ? `, the dashboard at ${url}` : ''}. ` +
        `${hasCollector ? `Applications send to the collector at ${collector}. ` : ''}Ctrl+C stops it.`,
    );
  if (logs === 'stdout') void prepareFirstUse(app, config, logger);
  return {
    app,
    drain: drain.begin,
    stop: () => {
      drain.begin();
      return app.close();
    },
  };
}

/** Logs likely mistakes of the configuration: access of others to the data, and variables without effect. */
export function warnOfConfiguration(config: Config, logger: Logger): void {
  warnOfSharedDirectory(config, logger);
  for (const warning of config.warnings) logger.warn(warning);
}

/**
 * Without any key, nobody can read. On a terminal the first start creates a first application; elsewhere the
 * log says how to create one. Not awaited: the store may be slow or unreachable, which is logged elsewhere.
 */
async function prepareFirstUse(app: NestExpressApplication, config: Config, logger: Logger): Promise<void> {
  try {
    if (await app.get(ApiKeyRepository).hasAny()) return;
    const admin = createAdmin(app.get(ClickHouse), app.get(LocalCoordinator));
    if (process.stdin.isTTY && process.stderr.isTTY && (await admin.teams.list()).length === 0) {
      printForPeople(describeFirstSteps(config, await createFirstApp(admin, config)));
      const written = writeEnvFile(config);
      if (written !== undefined) printForPeople(written);
      return;
    }
  } catch (error) {
    logger.debug(error, 'no preparation for a first use');
    return;
  }
  const cure = `There is no API key yet: ${config.program} init makes one, with a team, an app and a write token.`;
  logger.info(cure);
  printForPeople(cure);
}

/** Prints on a terminal alone: the log has the same text, as JSON. */
function printForPeople(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`);
}
