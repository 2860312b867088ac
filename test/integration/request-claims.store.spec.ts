import { randomUUID } from 'node:crypto';
import { StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { LOOKUP_SIZE } from '../../src/shared/chunk.js';
import { Config } from '../../src/config/config.js';
import { RequestClaims } from '../../src/write/request-claims.js';
import { RedisCoordinator } from '../../src/coordination/redis-coordinator.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';

describeWithRedis('RequestClaims of processes with one Redis', () => {
  let redis: RedisAddress;

  beforeAll(async () => {
    redis = await openRedis();
  });
  afterAll(() => redis.stop());

  it('keep no part of a claim that another process has in part', async () => {
    const config = new Config({ REDIS_URL: redis.url, CLICKHOUSE_DATABASE: randomUUID() });
    const coordinators = [RedisCoordinator.create(config)!, RedisCoordinator.create(config)!] as const;
    const [first, second] = [new RequestClaims(coordinators[0]), new RequestClaims(coordinators[1])];
    // They are claimed in two steps.
    const keys = Array.from({ length: LOOKUP_SIZE + 1 }, (_, index) => String(index));
    const run = (claims: RequestClaims, some: string[]) => claims.run(some, -1, () => Promise.resolve('ran'));
    await first.run(keys.slice(-1), -1, async () => {
      await expect(run(second, keys)).rejects.toThrow(StoreUnavailable);
      expect(await run(first, keys.slice(0, 1))).toBe('ran');
    });
    for (const coordinator of coordinators) coordinator.close();
  });
});
