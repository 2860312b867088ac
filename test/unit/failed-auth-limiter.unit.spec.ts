import { CredentialLookup } from '../../src/access/credential-lookup.js';
import { Config } from '../../src/config/config.js';
import { eventually } from '../setup/eventually.js';
import { ApiError, rateLimitExceeded } from '../../src/platform/http/api-error.js';
import { type Credential, FailedAuthLimiter } from '../../src/access/rate-limit/failed-auth-limiter.js';
import { MemoryCounter } from '../../src/access/rate-limit/memory.counter.js';

const ADDRESS = '203.0.113.7';

/** No credential is valid. */
const lookup = new CredentialLookup<undefined>(0, {
  load: () => Promise.resolve(undefined),
  listIdentifiers: () => Promise.resolve(['existing']),
});

function createGuess(limit: number, counter = new MemoryCounter(), credential?: Credential) {
  const config = new Config({ AUTH_FAILURES_PER_MINUTE: String(limit) });
  const limiter = new FailedAuthLimiter(counter, config, undefined, credential);
  return async (address: string | undefined, identifier = 'guess') => {
    try {
      await limiter.authenticate(address, lookup, identifier, () => undefined);
      return null;
    } catch (error) {
      return error;
    }
  };
}

describe('FailedAuthLimiter', () => {
  it('checks as many invalid keys as the limit allows, then rejects with the time to wait', async () => {
    const guess = createGuess(3);
    for (let n = 0; n < 3; n++) expect(await guess(ADDRESS)).toBeNull();
    for (let n = 0; n < 3; n++) expect(await guess(ADDRESS)).toEqual(rateLimitExceeded(60));
  });

  it('responds to exactly the limit of concurrent guesses', async () => {
    const guess = createGuess(3);
    const results = await Promise.all(Array.from({ length: 50 }, () => guess(ADDRESS)));
    expect(results.filter((error) => error === null)).toHaveLength(3);
    expect(results.filter((error) => error instanceof ApiError)).toHaveLength(47);
  });

  it('checks invalid keys again when the window of the first one has ended', async () => {
    const guess = createGuess(1, new MemoryCounter({ windowMs: 500 }));
    expect(await guess(ADDRESS)).toBeNull();
    expect(await guess(ADDRESS)).toEqual(rateLimitExceeded(1));
    expect(await eventually(async () => (await guess(ADDRESS)) === null)).toBe(true);
  });

  it('counts invalid credentials of each kind by themselves', async () => {
    const counter = new MemoryCounter();
    for (const credential of ['api_key', 'client_id', 'write_token'] as const) {
      const guess = createGuess(1, counter, credential);
      expect(await guess(ADDRESS)).toBeNull();
      expect(await guess(ADDRESS)).toEqual(rateLimitExceeded(60));
    }
  });

  it('checks a credential that exists over the limit too', async () => {
    const config = new Config({ AUTH_FAILURES_PER_MINUTE: '1' });
    const limiter = new FailedAuthLimiter(new MemoryCounter(), config);
    await limiter.authenticate(ADDRESS, lookup, 'guess', () => undefined);
    expect(await limiter.authenticate(ADDRESS, lookup, 'existing', () => 'owner')).toBe('owner');
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
      const guess = createGuess(1);
      await guess(guilty);
      expect((await guess(other)) !== null).toBe(isRefused);
    },
  );
});
