import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { LocalCoordinator, type WriterCoordinator } from '../../src/coordination/writer-coordinator.js';
import { Config } from '../../src/config/config.js';
import { LeaseLost } from '../../src/coordination/lease.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { WriteGate } from '../../src/write/write-gate.js';
import { RedisCoordinator } from '../../src/coordination/redis-coordinator.js';
import { buildRequest } from '../factories/request.factory.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';
import { type OpenStore, createApp, openStore } from '../setup/store.js';

/** Longer than leases are held. */
const STOOD_STILL_MS = 61_000;

describeWithRedis('a process that stood still until its leases expired', () => {
  let redis: RedisAddress;
  let admin: Redis;
  let open: OpenStore;
  const toClose: WriterCoordinator[] = [];

  beforeAll(async () => {
    redis = await openRedis();
    admin = new Redis(redis.url);
    open = await openStore();
  });

  afterAll(async () => {
    for (const coordinator of toClose) coordinator.close();
    admin.disconnect();
    await redis.stop();
    await open.remove();
  });

  /** The clock of a process goes on while it is stopped; locks in Redis expire by its own clock. */
  async function standStill(): Promise<void> {
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + STOOD_STILL_MS);
    await admin.flushall();
  }

  describe.each<[string, () => [first: WriterCoordinator, second: WriterCoordinator]]>([
    [
      'with one Redis',
      () => {
        const config = new Config({ REDIS_URL: redis.url, CLICKHOUSE_DATABASE: randomUUID() });
        const coordinators = [RedisCoordinator.create(config)!, RedisCoordinator.create(config)!] as const;
        toClose.push(...coordinators);
        return [...coordinators];
      },
    ],
    [
      'behind one server’s socket',
      () => {
        const coordinator = new LocalCoordinator();
        return [coordinator, coordinator];
      },
    ],
  ])('%s', (_, connect) => {
    it('does not write requests that another one has written meanwhile', async () => {
      const [first, second] = connect();
      const appId = await createApp(open.store);
      // Batches of the same requests would be the same.
      const [shared, unshared] = [buildRequest({}), buildRequest({})];
      const stopped = RequestsWriter.create(open.store, first);
      const running = RequestsWriter.create(open.store, second);
      const written = stopped.write(appId, [shared, unshared], async (commit) => {
        await standStill();
        await running.write(appId, [shared]);
        await commit();
      });
      await expect(written).rejects.toThrow(LeaseLost);
      jest.restoreAllMocks();
      // What it did not write comes again.
      await stopped.write(appId, [shared, unshared]);
      const sql = `SELECT sum(n) AS requests FROM counts_per_day_v1 WHERE app_id = {app_id:UInt32} AND measure = 'requests'`;
      const logged = 'SELECT count() AS requests FROM request_logs_v1 WHERE app_id = {app_id:UInt32}';
      const count = async (statement: string) =>
        (await open.store.rows<{ requests: number }>('test.count', statement, { app_id: appId }))[0]
          ?.requests;
      expect([await count(sql), await count(logged)]).toEqual([2, 2]);
    });

    it('does not write while a backup has paused writes', async () => {
      const [first, second] = connect();
      const written = new WriteGate(first).run(async (hold) => {
        await hold();
        await standStill();
        await new WriteGate(second).pause(async () => {
          await expect(hold()).rejects.toThrow(LeaseLost);
        });
        await hold();
      });
      await expect(written).rejects.toThrow(LeaseLost);
    });
  });

  it('keeps a lease that is renewed in time, and renews a late one before it expires', async () => {
    const gate = new WriteGate(new LocalCoordinator());
    const now = performance.now.bind(performance);
    let late = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + late);
    await gate.run(async (hold) => {
      for (let step = 0; step < 5; step++) {
        late += 45_000;
        await hold();
      }
    });
  });
});
