import { Redis } from 'ioredis';
import { CredentialLookup } from '../../src/access/credential-lookup.js';
import { Config } from '../../src/config/config.js';
import { FailedAuthLimiter } from '../../src/access/rate-limit/failed-auth-limiter.js';
import { FallbackCounter } from '../../src/access/rate-limit/fallback.counter.js';
import { MemoryCounter } from '../../src/access/rate-limit/memory.counter.js';
import { RedisCounter } from '../../src/access/rate-limit/redis.counter.js';
import type { RateWindow } from '../../src/access/rate-limit/window.counter.js';
import { eventually } from '../setup/eventually.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';

const NO_KEYS = new CredentialLookup<undefined>(0, {
  load: () => Promise.resolve(undefined),
  listIdentifiers: () => Promise.resolve([]),
});

describeWithRedis('RedisCounter', () => {
  let address: RedisAddress;
  let admin: Redis;
  const counters: RedisCounter[] = [];

  async function connect(windowMs?: number) {
    const counter = new RedisCounter(address.url, windowMs);
    counters.push(counter);
    await counter.connect();
    return counter;
  }

  beforeAll(async () => {
    address = await openRedis();
    admin = new Redis(address.url);
  });

  afterAll(async () => {
    for (const counter of counters) counter.close();
    admin.disconnect();
    await address.stop();
  });

  it('gives 1,000 hits sent at once through two connections the numbers 1 to 1,000, and one end', async () => {
    const [first, second] = [await connect(), await connect()];
    const hits = Array.from({ length: 1_000 }, (_, n) => (n % 2 ? first : second).hit('key:atomic'));
    const windows = await Promise.all(hits);
    const numbers = windows.map((window) => window.hits).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 1));
    expect(numbers.filter((number) => number <= 100)).toHaveLength(100);
    expect(new Set(windows.map(({ endsAtMs }) => endsAtMs)).size).toBe(1);
  });

  it('lets a window last its time from its first hit, and then begins another', async () => {
    const counter = await connect(1_000);
    const first = await counter.hit('key:short');
    let last = first;
    const next = await eventually(async () => {
      const window = await counter.hit('key:short');
      if (window.endsAtMs === first.endsAtMs) last = window;
      return window.endsAtMs === first.endsAtMs ? undefined : window;
    });
    expect(first).toMatchObject({ hits: 1, leftMs: 1_000 });
    expect(last.hits).toBeGreaterThan(1);
    expect(next.hits).toBe(1);
    expect(next.endsAtMs - 1_000).toBeGreaterThanOrEqual(first.endsAtMs);
  });

  it('looks at the shared window without counting', async () => {
    const [first, second] = [await connect(), await connect()];
    expect(await second.peek('key:look')).toBeNull();
    const counted = await first.hit('key:look');
    for (let n = 0; n < 3; n++) {
      const seen = await second.peek('key:look');
      expect(seen).toMatchObject({ hits: 1, endsAtMs: counted.endsAtMs });
    }
  });

  it('keeps a window under its prefix and lets Redis drop it when it ends', async () => {
    const counter = await connect();
    const { endsAtMs } = await counter.hit('key:abcdefg');
    expect(await admin.pttl('ra:rl:key:abcdefg')).toBeGreaterThan(0);
    expect(await admin.hgetall('ra:rl:key:abcdefg')).toEqual({ hits: '1', ends: String(endsAtMs) });
  });

  it.each<[string, (key: string) => Promise<unknown>]>([
    ['of another type', (key) => admin.rpush(key, 'x')],
    ['without an end', (key) => admin.hset(key, 'hits', 99)],
    ['with an end that is no number', (key) => admin.hset(key, 'hits', 99, 'ends', 'soon')],
    ['with an end too far off', (key) => admin.hset(key, 'hits', 99, 'ends', Date.now() + 1e9)],
    ['that ended and was not dropped', (key) => admin.hset(key, 'hits', 99, 'ends', 1)],
  ])('replaces a key %s with a window', async (broken, write) => {
    const counter = await connect();
    const key = `key:${broken}`;
    await write(`ra:rl:${key}`);
    await expect(counter.peek(key)).resolves.toBeDefined();
    expect(await counter.hit(key)).toMatchObject({ hits: 1, leftMs: 60_000 });
    expect(await counter.hit(key)).toMatchObject({ hits: 2 });
    expect(await admin.pttl(`ra:rl:${key}`)).toBeLessThanOrEqual(60_000);
  });

  it('goes on when Redis has forgotten its scripts', async () => {
    const counter = await connect();
    await counter.hit('key:flushed');
    await admin.script('FLUSH');
    const windows = await Promise.all(Array.from({ length: 10 }, () => counter.hit('key:flushed')));
    const numbers = windows.map(({ hits }: RateWindow) => hits).sort((a, b) => a - b);
    expect(numbers).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('counts failed authentications for all instances together', async () => {
    const config = new Config({ AUTH_FAILURES_PER_MINUTE: '10' });
    const [first, second] = await Promise.all(
      [connect(), connect()].map(
        async (counter) =>
          new FailedAuthLimiter(new FallbackCounter(await counter, new MemoryCounter()), config),
      ),
    );
    const guess = (limiter: FailedAuthLimiter | undefined, address: string) =>
      limiter!
        .authenticate(address, NO_KEYS, 'guess', () => undefined)
        .then(
          () => 'checked',
          (error: unknown) => error,
        );
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => guess(n % 2 ? first : second, '198.51.100.9')),
    );
    expect(results.filter((result) => result === 'checked')).toHaveLength(10);
    for (const limiter of [first, second]) {
      expect(await guess(limiter, '198.51.100.9')).toMatchObject({ status: 429 });
      expect(await guess(limiter, '198.51.100.10')).toBe('checked');
    }
  });
});
