import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { FallbackCounter } from '../../src/access/rate-limit/fallback.counter.js';
import { MemoryCounter } from '../../src/access/rate-limit/memory.counter.js';
import { RedisCounter } from '../../src/access/rate-limit/redis.counter.js';
import type { RateWindow } from '../../src/access/rate-limit/window.counter.js';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';
import { load } from '../setup/load.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';

/** What a request may wait because of Redis (docs/contract.md#rate-limit-fallback). */
const LONGEST_WAIT_MS = 100;

/** Knows how many requests have asked Redis, and how many probes. */
class WatchedRedis extends RedisCounter {
  asked = 0;
  probed = 0;

  override hit(key: string): Promise<RateWindow> {
    if (key === 'probe') this.probed += 1;
    else this.asked += 1;
    return super.hit(key);
  }

  async probedAgain(times: number) {
    const before = this.probed;
    await eventually(() => this.probed >= before + times);
  }
}

let warnings: jest.SpyInstance;
let notes: jest.SpyInstance;
const counters: FallbackCounter[] = [];

/** A counter as in a process of its own. */
async function startCounter(url: string, startMs?: number) {
  const redis = new WatchedRedis(url);
  const counter = new FallbackCounter(redis, new MemoryCounter(), startMs === undefined ? {} : { startMs });
  counters.push(counter);
  await counter.onModuleInit();
  return { redis, counter };
}

beforeEach(() => {
  warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  notes = jest.spyOn(Logger.prototype, 'log').mockImplementation();
});

afterEach(() => {
  for (const counter of counters.splice(0)) counter.onApplicationShutdown();
});

interface Outage {
  readonly name: string;
  readonly begin: (server: RedisServer, admin: Redis) => unknown;
  readonly end: (server: RedisServer, admin: Redis) => unknown;
}

const OUTAGES: Outage[] = [
  {
    name: 'is frozen',
    begin: (server) => {
      server.freeze();
    },
    end: (server) => {
      server.thaw();
    },
  },
  { name: 'is killed and started again', begin: (server) => server.kill(), end: (server) => server.launch() },
  {
    name: 'is out of memory',
    begin: (_, admin) => admin.config('SET', 'maxmemory', '1'),
    end: (_, admin) => admin.config('SET', 'maxmemory', '0'),
  },
  {
    name: 'is read only',
    begin: (_, admin) => admin.replicaof('127.0.0.1', '1'),
    end: (_, admin) => admin.replicaof('NO', 'ONE'),
  },
  {
    name: 'denies the scripts',
    begin: (_, admin) => admin.acl('SETUSER', 'default', '-@scripting'),
    end: (_, admin) => admin.acl('SETUSER', 'default', '+@scripting'),
  },
  {
    name: 'wants a password that was not given',
    begin: async (_, admin) => {
      await admin.config('SET', 'requirepass', 'secret');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    },
    end: (_, admin) => admin.config('SET', 'requirepass', ''),
  },
];

describeWithRedisServer('FallbackCounter', () => {
  let server: RedisServer;
  let admin: Redis;

  beforeEach(async () => {
    server = await RedisServer.start();
    admin = new Redis(server.url, { retryStrategy: () => 50 });
    admin.on('error', () => undefined);
    await admin.ping();
  });

  afterEach(async () => {
    admin.disconnect();
    await server.stop();
  });

  it.each(OUTAGES)('loses no hit when Redis $name, and returns by itself', async ({ begin, end }) => {
    const { redis, counter } = await startCounter(server.url);
    expect(counter.state).toBe('redis');
    const running = load(() => counter.hit('key:load'));
    await eventually(() => redis.asked > 100);

    await begin(server, admin);
    await eventually(() => counter.state === 'fallback');
    const asked = redis.asked;
    expect(await counter.hit('key:meanwhile')).toMatchObject({ hits: 1 });
    expect(await counter.hit('key:meanwhile')).toMatchObject({ hits: 2 });
    await redis.probedAgain(2);
    expect(counter.state).toBe('fallback');
    expect(redis.asked).toBe(asked);

    await end(server, admin);
    await eventually(() => counter.state === 'redis');
    await eventually(() => redis.asked > asked + 100);
    expect(await running.stop()).toBeLessThan(LONGEST_WAIT_MS);
    expect(warnings).toHaveBeenCalledTimes(1);
    expect(notes).toHaveBeenCalledTimes(1);
    expect(await counter.hit('key:meanwhile')).toMatchObject({ hits: 1 });
  });

  it('says why it left Redis, once per outage, however many hits failed together', async () => {
    const { counter } = await startCounter(server.url);
    for (let outage = 1; outage <= 2; outage++) {
      await server.kill();
      await Promise.all(Array.from({ length: 200 }, () => counter.hit('key:many')));
      await eventually(() => counter.state === 'fallback');
      expect(warnings).toHaveBeenCalledTimes(outage);
      await server.launch();
      await eventually(() => counter.state === 'redis');
      expect(notes).toHaveBeenCalledTimes(outage);
    }
  });

  it('lets two instances share one count again after each counted by itself', async () => {
    const [first, second] = await Promise.all([startCounter(server.url), startCounter(server.url)]);
    server.freeze();
    const meanwhile = await Promise.all([first, second].map(({ counter }) => counter.hit('key:shared')));
    expect(meanwhile.map(({ hits }) => hits)).toEqual([1, 1]);
    server.thaw();
    await eventually(() => first.counter.state === 'redis' && second.counter.state === 'redis');
    const shared = [await first.counter.hit('key:new'), await second.counter.hit('key:new')];
    expect(shared.map(({ hits }) => hits)).toEqual([1, 2]);
    expect(shared[0]?.endsAtMs).toBe(shared[1]?.endsAtMs);
  });

  it('goes on from the last count that Redis gave when it is lost in mid-window', async () => {
    const [first, second] = await Promise.all([startCounter(server.url), startCounter(server.url)]);
    await first.counter.hit('key:window');
    await second.counter.hit('key:window');
    const { endsAtMs } = await first.counter.hit('key:window');
    server.freeze();
    expect(await first.counter.hit('key:window')).toMatchObject({ hits: 4, endsAtMs });
    expect(await second.counter.hit('key:window')).toMatchObject({ hits: 3, endsAtMs });
  });

  it('finds a Redis that comes up after the process did', async () => {
    await server.kill();
    const { counter } = await startCounter(server.url, 50);
    expect(counter.state).toBe('fallback');
    await server.launch();
    await eventually(() => counter.state === 'redis');
    expect([warnings.mock.calls.length, notes.mock.calls.length]).toEqual([1, 1]);
  });

  it('waits at the start for a Redis that comes up at the same time', async () => {
    await server.kill();
    const [{ counter }] = await Promise.all([startCounter(server.url, 10_000), server.launch()]);
    expect(counter.state).toBe('redis');
    expect(warnings).not.toHaveBeenCalled();
  });

  it('shuts down without Redis, and says nothing more', async () => {
    const disconnected = once(admin, 'end');
    admin.disconnect();
    await disconnected;
    // Suites before this one may have left some in this process.
    const countSockets = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const before = countSockets();
    const { counter } = await startCounter(server.url);
    expect(countSockets()).toBeGreaterThan(before);
    server.freeze();
    await counter.hit('key:last');
    warnings.mockClear();
    counter.onApplicationShutdown();
    await eventually(() => countSockets() <= before);
    server.thaw();
    expect(await counter.hit('key:late')).toMatchObject({ hits: 1 });
    expect([warnings.mock.calls.length, notes.mock.calls.length]).toEqual([0, 0]);
  });
});

describe('FallbackCounter without a Redis that counts', () => {
  const silent = createServer((socket) => socket.resume());
  const talkative = createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'));

  beforeAll(async () => {
    for (const server of [silent, talkative]) await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  afterAll(() => {
    for (const server of [silent, talkative]) server.close();
  });

  const getPort = (server: typeof silent) => (server.address() as AddressInfo).port;

  it.each<[string, RegExp, () => string | Promise<string>]>([
    ['nothing listens', /ECONNREFUSED/, async () => `redis://127.0.0.1:${await freePort()}`],
    ['nothing listens on the name', /ECONNREFUSED/, async () => `redis://localhost:${await freePort()}`],
    ['the host does not respond', /no response|E[A-Z]+/, () => 'redis://192.0.2.1:6379'],
    ['the host has no address', /no response|ENOTFOUND|EAI_AGAIN/, () => 'redis://redis.invalid:6379'],
    ['the peer accepts and stays silent', /no response/, () => `redis://127.0.0.1:${getPort(silent)}`],
    ['the peer is not Redis', /.+/, () => `redis://127.0.0.1:${getPort(talkative)}`],
    ['the peer does not speak TLS', /ERR_SSL|EPROTO/, () => `rediss://127.0.0.1:${getPort(talkative)}`],
  ])('starts, counts by itself and says why once, where %s', async (_case, why, url) => {
    const { redis, counter } = await startCounter(await url(), 100);
    expect(counter.state).toBe('fallback');
    const windows = await Promise.all(Array.from({ length: 50 }, () => counter.hit('key:alone')));
    expect(windows.map(({ hits }) => hits)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    expect(redis.asked).toBe(0);
    await redis.probedAgain(2);
    const said = warnings.mock.calls.map(
      ([line]: [string]) => /^Redis unavailable \((.+)\), /.exec(line)?.[1],
    );
    expect(said).toEqual([expect.stringMatching(why)]);
    expect(notes).not.toHaveBeenCalled();
  });
});
