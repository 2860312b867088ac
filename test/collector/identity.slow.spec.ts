import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { parseNdjsonLine } from '../../src/sources/lines/formats/ndjson.parser.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { RedisCoordinator } from '../../src/coordination/redis-coordinator.js';
import { buildRequest } from '../factories/request.factory.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';
import { type Client, TestService } from './setup/collector.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';
import { startServer } from './setup/server.js';

const REQUESTS = 50;

/** All requests of an app in pages of seven, and what traffic counts. */
async function readBack({ tenant }: Client) {
  const logs = await tenant.readAllPages<{ request_uuid: string }>('request-logs', {}, () => 7);
  const { data } = await tenant.traffic();
  const requests = data.reduce((sum, period) => sum + period.requests, 0);
  return { uuids: logs.map(({ request_uuid }) => request_uuid), requests };
}

describe('a request that comes by two ways', () => {
  let service: TestService;
  let client: Client;

  beforeAll(async () => {
    service = await TestService.start();
  });
  beforeEach(async () => {
    client = await service.tenant();
  });
  afterAll(() => service.stop());

  const items = () =>
    Array.from(
      { length: REQUESTS },
      () => buildLogItem({ request: { consumer: 'bob' } }) as { uuid: string },
    );
  const toRecord = (line: string): RequestRecord => {
    const parsed = parseNdjsonLine(line);
    if (!('record' in parsed) || parsed.record.request_uuid === null) throw new Error(line);
    return { ...parsed.record, request_uuid: parsed.record.request_uuid, env: parsed.record.env ?? 'prod' };
  };

  it('is one request when what the collector logged is read by Get Request Details and imported', async () => {
    const logged = items();
    await client.sendLog(logged);
    await client.send(
      'sync',
      buildSync({ requests: [buildCount({ consumer: 'bob', request_count: REQUESTS })] }),
    );
    const details = logged.map(async ({ uuid }) => (await client.tenant.get(`request-logs/${uuid}`)).text);
    const records = (await Promise.all(details)).map(toRecord);

    expect(await service.api.writer.write(client.tenant.appId, records)).toEqual([]);
    const { uuids, requests } = await readBack(client);
    expect([uuids.length, new Set(uuids).size, requests]).toEqual([REQUESTS, REQUESTS, REQUESTS]);
  });

  it('is one request when it is imported and then logged', async () => {
    const logged = items();
    const timestamp = Date.now() - 60_000;
    const records = logged.map(({ uuid }) => buildRequest({ request_uuid: uuid, timestamp }));
    await service.api.writer.write(client.tenant.appId, records);
    expect((await client.sendLog(logged)).status).toBe(202);
    const { uuids, requests } = await readBack(client);
    expect([uuids.length, new Set(uuids).size, requests]).toEqual([REQUESTS, REQUESTS, REQUESTS]);
  });

  it('is logged once when both have it at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      client = await service.tenant();
      const logged = items();
      const timestamp = Date.now() - 60_000;
      const records = logged.map(({ uuid }) => buildRequest({ request_uuid: uuid, timestamp }));
      await Promise.all([client.sendLog(logged), service.api.writer.write(client.tenant.appId, records)]);
      const { uuids } = await readBack(client);
      expect([uuids.length, new Set(uuids).size]).toEqual([REQUESTS, REQUESTS]);
    }
  });
});

describeWithRedisServer('two processes on one server and one Redis', () => {
  it('write a request once that both have at the same time', async () => {
    const { server, env } = await startServer();
    const redis = await RedisServer.start();
    const service = await TestService.start({ ...env, REDIS_URL: redis.url });
    const config = new Config({ ...env, REDIS_URL: redis.url });
    const stores = [await ClickHouse.open(config), await ClickHouse.open(config)];
    const connections = stores.map(() => RedisCoordinator.create(config));
    try {
      const client = await service.tenant();
      const records = Array.from({ length: 4_000 }, (_, n) => buildRequest({ path: `/${n % 50}` }));
      const writers = stores.map((store, index) => RequestsWriter.create(store, connections[index]!));
      const written = await Promise.all([
        ...writers.map((writer) => writer.write(client.tenant.appId, records.slice(0, 2_500))),
        ...writers.map((writer) => writer.write(client.tenant.appId, records.slice(1_500))),
      ]);
      expect(written.flat()).toHaveLength(4_000);
      const { data } = await client.tenant.traffic();
      expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(4_000);
      expect((await client.tenant.get('endpoints')).body.data).toHaveLength(50);
    } finally {
      for (const connection of connections) connection?.close();
      for (const store of stores) await store.close();
      await service.stop();
      await redis.stop();
      await server.stop();
    }
  });
});
