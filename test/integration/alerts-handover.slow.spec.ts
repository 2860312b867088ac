import { setTimeout as pause } from 'node:timers/promises';
import type { AlertList } from '../../src/api/alerts/alerts.dto.js';
import { buildCount, buildSync } from '../collector/setup/messages.js';
import { post } from '../collector/setup/post.js';
import { startServer } from '../collector/setup/server.js';
import type { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import { type Prepared, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { getValue, parseExposition } from '../setup/exposition.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';
import { WebhookReceiver } from '../setup/webhook-receiver.js';

const MINUTE_MS = 60_000;
const SEND_EVERY_MS = 500;

describeWithRedis('alerts of two processes on one server and one Redis', () => {
  let server: ClickHouseServer;
  let redis: RedisAddress;
  let receiver: WebhookReceiver;
  let env: NodeJS.ProcessEnv;
  let prepared: Prepared;
  let processes: ProductProcess[];

  beforeAll(async () => {
    redis = await openRedis();
    receiver = await WebhookReceiver.start();
    const started = await startServer();
    server = started.server;
    env = {
      ...started.env,
      ...{ REDIS_URL: redis.url, ALERT_GRACE_SECONDS: '0', ALERT_ALLOW_PRIVATE: 'on' },
    };
    prepared = await prepare(env, 0);
    processes = await Promise.all([
      ProductProcess.start(['serve'], env),
      ProductProcess.start(['serve'], env),
    ]);
  });
  afterAll(async () => {
    closeConnections();
    await ProductProcess.endAll();
    await receiver.stop();
    await server.stop();
    await redis.stop();
  });

  const run = async (...args: string[]) => {
    const { code, out } = await ProductProcess.run(args, env);
    expect(code).toBe(0);
    return out.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  /** An application with a client library, which sends to any process that runs, until it is stopped. */
  const startApplication = () => {
    const application = { status: 200, isRunning: true };
    const sent = (async () => {
      while (application.isRunning) {
        const running = processes.find(({ isRunning }) => isRunning)!;
        const requests = [buildCount({ status_code: application.status })];
        const path = `/v2/${prepared.clientId}/prod/sync`;
        // A process that is killed meanwhile does not respond.
        await post(`${running.collectorUrl}${path}`, JSON.stringify(buildSync({ requests }))).catch(
          () => undefined,
        );
        await pause(SEND_EVERY_MS);
      }
    })();
    return Object.assign(application, {
      stop: () => {
        application.isRunning = false;
        return sent;
      },
    });
  };
  const countDelivered = async ({ metricsUrl }: ProductProcess) => {
    const { text } = await sendRaw(metricsUrl, '/metrics');
    const labels = { channel: 'webhook', outcome: 'delivered' };
    return getValue(parseExposition(text), 'request_analytics_alert_messages_total', labels) ?? 0;
  };
  const readAlert = async () => {
    const running = processes.find(({ isRunning }) => isRunning)!;
    const path = `/v1/apps/${prepared.appId}/alerts`;
    const { text } = await sendRaw(running.apiUrl, path, { headers: { 'Api-Key': prepared.key } });
    return (JSON.parse(text) as AlertList).data.find(({ name }) => name === 'errors')!;
  };

  it(
    'are told once each: a fault fires, the process that told it is killed, and another one tells its end',
    async () => {
      const rule = ['--metric', 'error_rate', '--value', '0.5', '--window', '1m'];
      const place = ['--app', String(prepared.appId)];
      await run('alert', 'create', ...place, '--name', 'errors', ...rule, '--webhook', receiver.url);
      const application = startApplication();
      try {
        application.status = 500;
        await eventually(() => receiver.received.length > 0, 3 * MINUTE_MS);
        const leader = await eventually(async () => {
          for (const each of processes) if ((await countDelivered(each)) > 0) return each;
          return undefined;
        });
        await leader.crash();
        const killedAt = Date.now();
        application.status = 200;
        await eventually(() => receiver.told.includes('errors resolved'), 4 * MINUTE_MS);
        const { since } = await readAlert();
        // The windows behind the end tell nothing more.
        await eventually(
          async () => {
            const { state, evaluated_at } = await readAlert();
            return state === 'ok' && Date.parse(evaluated_at!) > Date.parse(since!);
          },
          3 * MINUTE_MS,
          1_000,
        );
        expect(receiver.told).toEqual(['errors firing', 'errors resolved']);
        const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
        expect(new Set(ids).size).toBe(2);
        const [firing, resolved] = receiver.bodies.map(({ alerts }) => alerts[0]!);
        expect(firing!.annotations.transition_id).not.toBe(resolved!.annotations.transition_id);
        expect(resolved).toMatchObject({ fingerprint: firing!.fingerprint, startsAt: firing!.startsAt });
        expect(Date.parse(resolved!.endsAt)).toBeGreaterThan(killedAt - MINUTE_MS);
      } finally {
        await application.stop();
      }
    },
    12 * MINUTE_MS,
  );

  it('are tested by a command while they run, also a digest', async () => {
    const { received } = receiver;
    const before = received.length;
    const team = ['--team', String(prepared.teamId)];
    await run('alert', 'create', ...team, '--preset', 'weekly', '--webhook', receiver.url);
    const [result] = await run('alert', 'test', ...team, 'weekly');
    expect(result).toMatchObject({ delivered: true, error: null });
    expect(received).toHaveLength(before + 1);
    expect(received.at(-1)!.body).toContain('Shop');
    expect(receiver.bodies.at(-1)!.alerts[0]!.labels).toMatchObject({ digest: 'weekly', app: 'Shop' });
  });
});
