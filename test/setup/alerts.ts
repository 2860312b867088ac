import { pino } from 'pino';
import { AlertRunner } from '../../src/alerts/alert-runner.js';
import { createMeasuringServices } from '../../src/alerts/measuring.module.js';
import { Config } from '../../src/config/config.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { PinoLogger } from '../../src/telemetry/logger.js';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import type { TestApp } from './app.js';

/** Evaluates all rules of the store once, for the last closed minute, and sends what is to be told. */
export async function evaluateAlerts({ store }: TestApp, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const config = new Config({
    ...{ CACHE_TTL_MS: '0', ALERT_GRACE_SECONDS: '0', ALERT_ALLOW_PRIVATE: 'on' },
    ...env,
  });
  const logger = new PinoLogger(pino({ level: 'silent' }));
  const services = await createMeasuringServices({ config, store, telemetry: Telemetry.none }, logger);
  const runner = new AlertRunner(store, services, new LocalCoordinator(), config);
  await runner.tick();
  await runner.settle();
  await runner.stop();
  await services.close();
}
