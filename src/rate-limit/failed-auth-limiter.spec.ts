import { Config } from '../config/config.js';
import { AuthFailures } from './failed-auth-limiter.js';
import { MemoryCounter } from './memory.counter.js';

const ADDRESS = '203.0.113.7';

function failuresWithLimit(limit: number) {
  const config = new Config({ AUTH_FAILURES_PER_MINUTE: String(limit) });
  return new AuthFailures(new MemoryCounter(), config);
}

describe('AuthFailures', () => {
  it('judges as many invalid keys as the limit allows, then refuses with the time to wait', async () => {
    const failures = failuresWithLimit(3);
    for (let n = 0; n < 3; n++) {
      expect(await failures.refused(ADDRESS)).toBeNull();
      expect(await failures.record(ADDRESS)).toBeNull();
    }
    for (let n = 0; n < 3; n++) expect(await failures.refused(ADDRESS)).toBe(60);
  });

  it('answers exactly the limit of guesses made at once, all of them judged before any was counted', async () => {
    const failures = failuresWithLimit(3);
    const guess = async () => (await failures.refused(ADDRESS)) ?? (await failures.record(ADDRESS));
    const answers = await Promise.all(Array.from({ length: 50 }, guess));
    expect(answers.filter((wait) => wait === null)).toHaveLength(3);
    expect(answers.filter((wait) => wait === 60)).toHaveLength(47);
  });

  it('does not count a look', async () => {
    const failures = failuresWithLimit(1);
    for (let n = 0; n < 10; n++) expect(await failures.refused(ADDRESS)).toBeNull();
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
      const failures = failuresWithLimit(1);
      await failures.record(guilty);
      expect((await failures.refused(other)) !== null).toBe(isRefused);
    },
  );
});
