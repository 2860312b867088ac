import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from '../collector/setup/server.js';
import type { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import type { HttpResponse } from '../setup/conforms.js';
import { type Prepared, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';
import { Balancer } from './balancer.js';

/** Longer than the balancer takes to see that an instance is no longer ready. */
const SHUTDOWN_DELAY_MS = 1_500;
const CLIENTS = 4;
/** Of each client, between its requests. */
const PAUSE_MS = 25;
/** How long the load goes on before and after. */
const AROUND_MS = 500;

describeWithRedis('a rollout: two instances behind a load balancer, under load', () => {
  let store: ClickHouseServer;
  let redis: RedisAddress;
  let env: NodeJS.ProcessEnv;
  let prepared: Prepared;
  let instances: ProductProcess[];
  let balancer: Balancer;

  beforeAll(async () => {
    redis = await openRedis();
    const started = await startServer();
    store = started.server;
    env = {
      ...started.env,
      REDIS_URL: redis.url,
      COLLECTOR: 'off',
      RATE_LIMIT_PER_MINUTE: '1000000',
      SHUTDOWN_DELAY_MS: String(SHUTDOWN_DELAY_MS),
    };
    prepared = await prepare(env);
    instances = await Promise.all([ProductProcess.start([], env), ProductProcess.start([], env)]);
    balancer = await Balancer.start(instances.map(({ apiUrl }) => Number(new URL(apiUrl).port)));
    await eventually(() => balancer.ready.every(Boolean));
  });

  afterAll(async () => {
    closeConnections();
    await balancer.stop();
    await Promise.all(instances.map((instance) => instance.stop()));
    await store.stop();
    await redis.stop();
  });

  /** Clients that keep their connections and send requests in turns, until `stop` is called. */
  function load() {
    const paths = ['', '/endpoints', '/request-logs?limit=5', '/traffic'].map((path) =>
      path === '' ? '/v1/team' : `/v1/apps/${prepared.appId}${path}`,
    );
    const wrong: (Pick<HttpResponse, 'status' | 'text'> | { error: string })[] = [];
    let [asked, isRunning] = [0, true];
    const client = async () => {
      while (isRunning) {
        const path = paths[asked++ % paths.length]!;
        const headers = { 'Api-Key': prepared.key };
        const response = await sendRaw(balancer.url, path, { headers }).catch((error: unknown) => {
          return { error: String(error) };
        });
        if ('error' in response) wrong.push(response);
        else if (response.status !== 200 || !response.text.endsWith('}')) wrong.push(response);
        await pause(PAUSE_MS);
      }
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, client));
    return async () => {
      isRunning = false;
      await clients;
      return { asked, wrong };
    };
  }

  it('fails no request when each instance is stopped in turn, and started again', async () => {
    const stop = load();
    for (const index of [0, 1]) {
      await pause(AROUND_MS);
      const [before, other] = [balancer.responses[index]!, balancer.responses[1 - index]!];
      const leaving = instances[index]!.stop();
      await eventually(() => !balancer.ready[index]);
      expect(balancer.responses[index]).toBeGreaterThanOrEqual(before);
      expect(await leaving).toBe(0);
      await instances[index]!.launch();
      await eventually(() => balancer.ready[index]);
      const back = balancer.responses[index]!;
      await eventually(() => balancer.responses[index]! > back + 10);
      expect(balancer.responses[1 - index]! - other).toBeGreaterThan(10);
    }
    await pause(AROUND_MS);
    const { asked, wrong } = await stop();
    process.stdout.write(`rollout: ${asked} requests, ${wrong.length} failed\n`);
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(asked).toBeGreaterThan(200);
  });

  it('closes connections to a stopping instance after their response, and serves until it has stopped', async () => {
    const { apiUrl } = instances[0]!;
    const leaving = instances[0]!.stop();
    const refused = await eventually(async () => {
      const response = await sendRaw(apiUrl, '/health/ready');
      return response.status === 503 && response;
    });
    expect(refused.headers).toMatchObject({
      connection: 'close',
      'retry-after': expect.any(String),
      'x-request-id': expect.any(String),
    });
    expect(await sendRaw(apiUrl, '/health/live')).toMatchObject({
      status: 200,
      headers: { connection: 'close' },
    });
    const headers = { 'Api-Key': prepared.key };
    const served = await sendRaw(apiUrl, '/v1/team', { headers });
    expect(served).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await leaving).toBe(0);
    await expect(sendRaw(apiUrl, '/health/live')).rejects.toThrow('ECONNREFUSED');
    await instances[0]!.launch();
  });
});
