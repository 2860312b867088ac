import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { withResolvers } from '../../src/shared/async/with-resolvers.js';
import { LocalCoordinator, type WriterCoordinator } from '../../src/coordination/writer-coordinator.js';
import { Config } from '../../src/config/config.js';
import { WriteGate } from '../../src/write/write-gate.js';
import { RedisCoordinator } from '../../src/coordination/redis-coordinator.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';

/** Forgets a pause, as a Redis that was started again. */
class ForgetfulCoordinator extends LocalCoordinator {
  private pausedBy = '';

  override pauseWrites(owner: string, ms: number): Promise<number> {
    this.pausedBy = owner;
    return super.pauseWrites(owner, ms);
  }

  forget(): Promise<void> {
    return this.resumeWrites(this.pausedBy);
  }
}

describeWithRedis('WriteGate', () => {
  let redis: RedisAddress;
  const open: WriterCoordinator[] = [];

  beforeAll(async () => {
    redis = await openRedis();
  });
  afterAll(async () => {
    for (const coordinator of open) coordinator.close();
    await redis.stop();
  });

  describe.each<[string, () => [writer: WriterCoordinator, backup: WriterCoordinator]]>([
    [
      'of one process',
      () => {
        const coordinator = new LocalCoordinator();
        return [coordinator, coordinator];
      },
    ],
    [
      'of processes with one Redis',
      () => {
        const config = new Config({ REDIS_URL: redis.url, CLICKHOUSE_DATABASE: randomUUID() });
        const coordinators = [RedisCoordinator.create(config)!, RedisCoordinator.create(config)!] as const;
        open.push(...coordinators);
        return [...coordinators];
      },
    ],
  ])('%s', (_, connect) => {
    it('pauses when the running writes have ended, and lets the others wait', async () => {
      const [writer, backup] = connect();
      const events: string[] = [];
      const { promise: firstEnded, resolve: endFirst } = withResolvers();
      const first = new WriteGate(writer).run(async () => {
        events.push('first begins');
        await firstEnded;
        events.push('first ends');
      });
      while (events.length === 0) await new Promise(setImmediate);
      const { promise: resumed, resolve: resume } = withResolvers();
      const paused = new WriteGate(backup).pause(async () => {
        events.push('paused');
        await resumed;
        events.push('resumed');
      });
      while (await writer.beginWrite('probe', 60_000)) await writer.endWrite('probe');
      const second = new WriteGate(writer).run(() => Promise.resolve(events.push('second')));
      endFirst();
      await first;
      while (!events.includes('paused')) await new Promise(setImmediate);
      resume();
      await Promise.all([paused, second]);
      expect(events).toEqual(['first begins', 'first ends', 'paused', 'resumed', 'second']);
    });

    it('does not wait for a write that ended with an error, but for one in doubt', async () => {
      const [writer, backup] = connect();
      await expect(new WriteGate(writer).run(() => Promise.reject(new Error('rejected')))).rejects.toThrow();
      expect(await backup.pauseWrites('backup', 60_000)).toBe(0);
      await backup.resumeWrites('backup');
      const failing = new WriteGate(writer).run(() => Promise.reject(new StoreUnavailable('timed out')));
      await expect(failing).rejects.toThrow('timed out');
      expect(await backup.pauseWrites('backup', 60_000)).toBe(1);
      await backup.resumeWrites('other');
      expect(await writer.beginWrite('probe', 60_000)).toBe(false);
      expect(await writer.pauseWrites('other', 60_000)).toBe(-1);
    });

    it('lets writes and pauses of dead processes expire', async () => {
      const [writer, backup] = connect();
      await writer.beginWrite('dead', 1);
      while ((await backup.pauseWrites('dead too', 1)) > 0) await new Promise(setImmediate);
      while (!(await writer.beginWrite('alive', 60_000))) await new Promise(setImmediate);
      expect(await backup.pauseWrites('backup', 60_000)).toBe(1);
      expect(await writer.beginWrite('alive', 60_000)).toBe(true);
    });
  });

  it('keeps no writes in Redis that have expired', async () => {
    const database = randomUUID();
    const coordinator = RedisCoordinator.create(
      new Config({ REDIS_URL: redis.url, CLICKHOUSE_DATABASE: database }),
    )!;
    const client = new Redis(redis.url);
    for (let n = 0; n < 20; n++) await coordinator.beginWrite(`in doubt ${n}`, 1);
    await pause(10);
    await coordinator.beginWrite('last', 60_000);
    expect(await client.zrange(`ra:${database}:writes`, '0', '-1')).toEqual(['last']);
    client.disconnect();
    coordinator.close();
  });

  it('rejects a pause that the coordinator forgot while something was written', async () => {
    const coordinator = new ForgetfulCoordinator();
    const paused = new WriteGate(coordinator).pause(async () => {
      await coordinator.forget();
      expect(await coordinator.beginWrite('writer', 60_000)).toBe(true);
    });
    await expect(paused).rejects.toThrow('writes could not be paused long enough');
    expect(await coordinator.pauseWrites('next', 1_000)).toBe(1);
  });

  it('rejects a pause of a process that stood still meanwhile, also when what was written has ended', async () => {
    const coordinator = new LocalCoordinator();
    const paused = new WriteGate(coordinator).pause(async () => {
      const later = performance.now() + 60_000;
      jest.spyOn(performance, 'now').mockReturnValue(later);
      expect(await coordinator.beginWrite('writer', 60_000)).toBe(true);
      await coordinator.endWrite('writer');
    });
    await expect(paused).rejects.toThrow('writes could not be paused long enough');
  });
});
