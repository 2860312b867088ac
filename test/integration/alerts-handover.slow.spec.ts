import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { AlertRunner } from '../../src/alerts/alert-runner.js';
import { createMeasuringServices } from '../../src/alerts/measuring.module.js';
import { Config } from '../../src/config/config.js';
import { RedisCoordinator } from '../../src/coordination/redis-coordinator.js';
import { PinoLogger } from '../../src/telemetry/logger.js';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';
import { Tenant } from '../setup/tenant.js';
import { WebhookReceiver } from '../setup/webhook-receiver.js';

const MINUTE_MS = 60_000;

describeWithRedis('alerts of two processes with one Redis', () => {
  let redis: RedisAddress;
  let app: TestApp;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    redis = await openRedis();
    app = await TestApp.start(WITHOUT_CACHE);
    receiver = await WebhookReceiver.start();
  });
  afterAll(async () => {
    await receiver.stop();
    await app.stop();
    await redis.stop();
  });

  it('are told once: the other process goes on within a minute of the death of the one that evaluates', async () => {
    const config = new Config({
      ...{ CACHE_TTL_MS: '0', ALERT_GRACE_SECONDS: '0', ALERT_ALLOW_PRIVATE: 'on' },
      ...{ REDIS_URL: redis.url, CLICKHOUSE_DATABASE: randomUUID() },
    });
    const services = await createMeasuringServices(
      {
        config,
        store: app.store,
        telemetry: Telemetry.none,
      },
      new PinoLogger(pino({ level: 'silent' })),
    );
    const start = () => {
      const coordinator = RedisCoordinator.create(config)!;
      return { coordinator, runner: new AlertRunner(app.store, services, coordinator, config) };
    };
    const [first, second] = [start(), start()];
    const tenant = await Tenant.create(app);
    const rule = { metric: 'error_rate', value: 0.5, window: '1m' };
    await app.alerts.create({ app: tenant.appId }, 'errors', rule, { webhook: receiver.url });
    const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    await tenant.write({ status_code: 500, timestamp: now - 2 * MINUTE_MS + 1 });
    for (const { runner } of [first, second]) await runner.tick(now - MINUTE_MS);
    await first.runner.settle();
    expect(receiver.told).toEqual(['errors firing']);
    // It dies: nothing of it is released.
    first.coordinator.close();
    await tenant.write({ status_code: 200, timestamp: now - MINUTE_MS + 1 });
    await second.runner.tick(now);
    expect(receiver.told).toEqual(['errors firing']);
    await eventually(async () => {
      await second.runner.tick(now);
      await second.runner.settle();
      return receiver.told.length === 2;
    }, MINUTE_MS);
    expect(receiver.told).toEqual(['errors firing', 'errors resolved']);
    await second.runner.stop();
    second.coordinator.close();
    await services.close();
  });
});
