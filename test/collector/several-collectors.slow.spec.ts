import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import type { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import { eventually } from '../setup/eventually.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';
import { Client, TestCollector, TestService } from './setup/collector.js';
import { Load } from './setup/load.js';
import { buildCount, buildSync } from './setup/messages.js';
import { buildOtlpLoad, readOtlpTotals } from './setup/otlp-load.js';
import { post } from './setup/post.js';
import { startServer } from './setup/server.js';

describeWithRedisServer('several collectors on one server and one Redis', () => {
  let server: ClickHouseServer;
  let redis: RedisServer;
  let service: TestService;
  let store: ClickHouse;
  let second: TestCollector;
  let client: Client;

  beforeAll(async () => {
    const started = await startServer();
    server = started.server;
    redis = await RedisServer.start();
    const env = {
      ...started.env,
      REDIS_URL: redis.url,
      COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
      CACHE_TTL_MS: '0',
      COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '1',
    };
    service = await TestService.start(env);
    const config = new Config(env);
    store = await ClickHouse.open(config);
    second = await TestCollector.start(store, config);
  });
  beforeEach(async () => {
    client = await service.tenant();
  });
  afterAll(async () => {
    await second.stop();
    await store.close();
    await service.stop();
    await redis.stop();
    await server.stop();
  });

  const collectors = () => [service.collector, second];
  const requests = async () => {
    const { data } = await client.tenant.traffic();
    return data.reduce((total, period) => total + period.requests, 0);
  };
  const names = async (resource: string, name: (item: Record<string, string>) => unknown) => {
    const { data } = (await client.tenant.get(resource, resource === 'consumers' ? { limit: 1000 } : {}))
      .body;
    return { ids: new Set(data.map(({ id }: { id: number }) => id)).size, names: data.map(name).sort() };
  };
  const range = (length: number) => Array.from({ length }, (_, index) => index);

  it('give each name one ID, and each ID to one name', async () => {
    const messages = range(120).map((index) => {
      const requests = range(3).map((more) =>
        buildCount({ path: `/p/${(index + more) % 40}`, consumer: `c${index % 30}` }),
      );
      const consumers = [{ identifier: `c${index % 30}`, group: `g${index % 3}` }];
      const url = `${collectors()[index % 2]!.url}${client.path('sync', index % 4 < 2 ? 'prod' : 'dev')}`;
      return { url, body: JSON.stringify(buildSync({ requests, consumers })) };
    });
    await new Load(messages).run(30);
    expect(await requests()).toBe(360);
    const endpoints = await names('endpoints', ({ path }) => path);
    expect(endpoints).toEqual({
      ids: 40,
      names: range(40)
        .map((index) => `/p/${index}`)
        .sort(),
    });
    const consumers = await names('consumers', ({ identifier }) => identifier);
    expect(consumers).toEqual({
      ids: 30,
      names: range(30)
        .map((index) => `c${index}`)
        .sort(),
    });
    const { body } = await service.api.get('/v1/apps', client.tenant.key);
    expect(body.data[0].envs.map(({ name }: { name: string }) => name).sort()).toEqual(['dev', 'prod']);
  });

  it('count a message once that comes to both, at once or one after the other', async () => {
    const messages = range(40).map(() => JSON.stringify(buildSync()));
    const send = (body: string) =>
      collectors().map(({ url }) => ({ url: `${url}${client.path('sync')}`, body }));
    await new Load(messages.flatMap(send)).run(20);
    await new Load(messages.slice(0, 5).flatMap(send)).run(1);
    expect(await requests()).toBe(40);
  });

  it('count a message once whose write one of them has in doubt when it comes to the other', async () => {
    const deliver = (collector: TestCollector, sync: object) =>
      collector.post(client.path('sync'), JSON.stringify(sync));
    for (const collector of collectors()) await deliver(collector, buildSync({ requests: [buildCount()] }));
    const sync = buildSync({ requests: [buildCount({ request_count: 10 })] });
    // Writes have no name.
    await server.fail({ kind: 'reset' }, { on: '' });
    for (const collector of collectors()) expect((await deliver(collector, sync)).status).toBe(503);
    await server.heal();
    for (const collector of collectors())
      await eventually(async () => (await deliver(collector, sync)).status === 202, 30_000, 50);
    expect(await requests()).toBe(12);
  });

  it('store OTLP bodies of the same instances once, sent to both in any order', async () => {
    const { appId } = client.tenant;
    const { token } = await service.api.admin.writeTokens.create(appId);
    const load = buildOtlpLoad(12, token, (index) => collectors()[index % 2]!.url);
    await new Load([load.first]).run(1);
    const again = load.messages.map((message, index) =>
      index % 7 === 0 ? { ...message, url: message.url.replace(/^.*(?=\/v1)/, second.url) } : message,
    );
    await Promise.all([new Load(load.messages).run(10), new Load(again).run(10)]);
    await eventually(async () => (await requests()) === load.expected.requests, 120_000);
    expect(await readOtlpTotals(store, appId)).toEqual(load.expected);
  }, 300_000);

  it('keep a mark on an endpoint that another collector meets for the first time', async () => {
    const sync = () => JSON.stringify(buildSync({ requests: [buildCount({ path: '/hidden' })] }));
    await service.collector.post(client.path('sync'), sync());
    await client.tenant.exclude('GET', '/hidden');
    expect((await second.post(client.path('sync'), sync())).status).toBe(202);
    expect(await requests()).toBe(0);
  });

  it('keep the newest name and group of a consumer, whichever of them it was reported to, over a restart too', async () => {
    const report = async (collector: TestCollector, described: object) => {
      const consumers = [{ identifier: 'anna', ...described }];
      const body = JSON.stringify(buildSync({ requests: [buildCount({ consumer: 'anna' })], consumers }));
      expect((await collector.post(client.path('sync'), body)).status).toBe(202);
      const [anna] = (await client.tenant.consumers()).data;
      return [anna?.name, anna?.group?.name];
    };
    const first = service.collector;
    expect(await report(first, { name: 'Anna', group: 'Partners' })).toEqual(['Anna', 'Partners']);
    expect(await report(second, { name: 'Anna B.' })).toEqual(['Anna B.', 'Partners']);
    // The first one knows an older name.
    expect(await report(first, { group: 'Staff' })).toEqual(['Anna B.', 'Staff']);
    // What each of them has reported before is new again.
    for (let time = 0; time < 2; time += 1) {
      expect(await report(first, { name: 'Anna', group: 'Partners' })).toEqual(['Anna', 'Partners']);
      expect(await report(second, { name: 'Anna B.', group: 'Staff' })).toEqual(['Anna B.', 'Staff']);
    }
    expect(await report(first, {})).toEqual(['Anna B.', 'Staff']);
    await second.stop();
    second = await TestCollector.start(store, service.api.app.get(Config));
    expect(await report(second, {})).toEqual(['Anna B.', 'Staff']);
    expect(await report(first, { group: 'Partners' })).toEqual(['Anna B.', 'Partners']);
    expect(await report(second, { name: 'Anna' })).toEqual(['Anna', 'Partners']);
  });

  it('return 503 while Redis is away, guess no IDs, and go on when it is back', async () => {
    await redis.kill();
    const body = JSON.stringify(buildSync({ requests: [buildCount({ path: '/new' })] }));
    const url = `${second.url}${client.path('sync')}`;
    const refused = await post(url, body);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    await redis.launch();
    await eventually(async () => (await post(url, body)).status === 202, 20_000);
    expect(await requests()).toBe(1);
    const all = await store.rows<{ id: number; names: number }>(
      'test',
      'SELECT id, uniqExact(app_id, method, path) AS names FROM endpoints_v1 GROUP BY id HAVING names > 1',
    );
    expect(all).toEqual([]);
  });
});
