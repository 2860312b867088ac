import { Config } from '../config/config.js';
import { FailedAuthLimiter } from './failed-auth-limiter.js';
import { MemoryCounter } from './memory.counter.js';

const ADDRESS = '203.0.113.7';

function failuresWithLimit(limit: number) {
  const config = new Config({ AUTH_FAILURES_PER_MINUTE: String(limit) });
  return new FailedAuthLimiter(new MemoryCounter(), config);
}

describe('FailedAuthLimiter', () => {
  it('checks as many invalid keys as the limit allows, then rejects with the time to wait', async () => {
    const limiter = failuresWithLimit(3);
    for (let n = 0; n < 3; n++) {
      expect(await limiter.retryAfter(ADDRESS)).toBeNull();
      expect(await limiter.record(ADDRESS)).toBeNull();
    }
    for (let n = 0; n < 3; n++) expect(await limiter.retryAfter(ADDRESS)).toBe(60);
  });

  it('responds to exactly the limit of concurrent guesses', async () => {
    const limiter = failuresWithLimit(3);
    const guess = async () => (await limiter.retryAfter(ADDRESS)) ?? (await limiter.record(ADDRESS));
    const results = await Promise.all(Array.from({ length: 50 }, guess));
    expect(results.filter((wait) => wait === null)).toHaveLength(3);
    expect(results.filter((wait) => wait === 60)).toHaveLength(47);
  });

  it('does not count a look', async () => {
    const limiter = failuresWithLimit(1);
    for (let n = 0; n < 10; n++) expect(await limiter.retryAfter(ADDRESS)).toBeNull();
  });

  it.each([
    { who: 'another IPv4 address', guilty: '203.0.113.7', other: '203.0.113.8', isRefused: false },
    {
      who: 'the address written as IPv6',
      guilty: '203.0.113.7',
      other: '::ffff:203.0.113.7',
      isRefused: true,
    },
    { who: 'another address of its /64', guilty: '2001:db8::1', other: '2001:db8::ffff:1', isRefused: true },
    { who: 'another /64', guilty: '2001:db8::1', other: '2001:db8:0:1::1', isRefused: false },
    { who: 'another without an address', guilty: undefined, other: 'nonsense', isRefused: true },
  ])(
    'where one client is over the limit, $who is refused: $isRefused',
    async ({ guilty, other, isRefused }) => {
      const limiter = failuresWithLimit(1);
      await limiter.record(guilty);
      expect((await limiter.retryAfter(other)) !== null).toBe(isRefused);
    },
  );
});
