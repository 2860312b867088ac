import { TestApp } from '../setup/app.js';
import type { HttpResponse } from '../setup/conforms.js';
import { V1_HEADERS, detail, seen } from '../setup/contract.js';
import { eventually } from '../setup/eventually.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';

const LIMIT = 3;
const WRONG_KEY = `zzzzzzz.${'z'.repeat(32)}`;
const REFUSED = {
  status: 429,
  text: detail('Rate limit exceeded'),
  headers: { ...V1_HEADERS, 'retry-after': expect.stringMatching(/^([1-9]|[1-5]\d|60)$/) },
};

let app: TestApp;
afterEach(async () => {
  await app.stop();
});
afterAll(closeConnections);

async function start(trustProxy: string) {
  app = await TestApp.start({
    TRUST_PROXY: trustProxy,
    AUTH_FAILURES_PER_MINUTE: String(LIMIT),
    CACHE_TTL_MS: '5000',
  });
  return (await app.team()).key;
}

/** Sends a request with a key, forwarded by a proxy; the path need not exist. */
function call(key: string | undefined, forwardedFor?: string, path = '/v1/team'): Promise<HttpResponse> {
  const headers = {
    ...(key && { 'Api-Key': key }),
    ...(forwardedFor && { 'X-Forwarded-For': forwardedFor }),
  };
  return sendRaw(app.url, path, { headers });
}

/** The statuses of wrong keys, one from each address that a proxy names. */
async function guesses(...forwardedFor: string[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const address of forwardedFor) statuses.push((await call(WRONG_KEY, address)).status);
  return statuses;
}

describe('guessing keys', () => {
  it('is refused after as many wrong keys as are allowed, without a word about the limit of a key', async () => {
    const key = await start('false');
    expect(await guesses('', '', '')).toEqual([401, 401, 401]);
    expect(seen(await call(WRONG_KEY))).toEqual(REFUSED);
    expect(seen(await call('no form of a key', undefined, '/v1/nothing'))).toEqual(REFUSED);
    expect(await call(key)).toMatchObject({ status: 200 });
  });

  it('does not lock out a key that was never used before, nor one that is made meanwhile', async () => {
    const key = await start('false');
    expect(await guesses('', '', '', '', '')).toEqual([401, 401, 401, 429, 429]);
    expect(await call(key)).toMatchObject({ status: 200 });
    const { key: later } = await app.team();
    await eventually(async () => (await call(later)).status === 200);
    expect(await call(WRONG_KEY)).toMatchObject({ status: 429 });
  });

  it('costs the store no query each, once it is refused', async () => {
    await start('false');
    await guesses('', '', '', '');
    const queries = jest.spyOn(app.store, 'rows');
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, n) => call(`guess${n.toString().padStart(2)}.${'z'.repeat(32)}`)),
    );
    expect(responses.every(({ status }) => status === 429)).toBe(true);
    expect(queries.mock.calls.length).toBeLessThan(5);
  });

  it('rejects no client with a cached valid key, and none without a key', async () => {
    const key = await start('false');
    expect(await call(key)).toMatchObject({ status: 200 });
    expect(await guesses('', '', '', '')).toEqual([401, 401, 401, 429]);
    expect(await call(key)).toMatchObject({ status: 200 });
    expect(await call(undefined)).toMatchObject({ status: 401, text: detail('Not authenticated') });
    expect(await sendRaw(app.url, '/health/live')).toMatchObject({ status: 200 });
  });

  it('of the right identifier is a guess, also by one that knows it', async () => {
    const key = await start('false');
    await call(key);
    const altered = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
    for (const status of [401, 401, 401, 429, 429]) expect((await call(altered)).status).toBe(status);
    expect(await call(key)).toMatchObject({ status: 200 });
  });

  it('without a key is none', async () => {
    await start('false');
    for (let n = 0; n <= LIMIT; n += 1) expect((await call(undefined)).status).toBe(401);
  });
});

describe('whose guesses they are, by TRUST_PROXY', () => {
  const [ann, bob] = ['203.0.113.1', '203.0.113.2'];

  it('false: uses the peer address with any X-Forwarded-For', async () => {
    await start('false');
    expect(await guesses(ann, bob, '203.0.113.3', '203.0.113.4')).toEqual([401, 401, 401, 429]);
  });

  it('a proxy that is not among the trusted subnets claims nothing', async () => {
    await start('10.0.0.0/8');
    expect(await guesses(ann, bob, '203.0.113.3', '203.0.113.4')).toEqual([401, 401, 401, 429]);
  });

  it.each(['1', 'loopback', 'true'])('%s: whom the proxy names, each by itself', async (trustProxy) => {
    await start(trustProxy);
    expect(await guesses(ann, ann, ann, ann)).toEqual([401, 401, 401, 429]);
    expect(await guesses(bob, bob, bob, bob)).toEqual([401, 401, 401, 429]);
  });

  it.each(['1', 'loopback'])(
    '%s: what the client itself put into the header does not count',
    async (trustProxy) => {
      await start(trustProxy);
      expect(await guesses(`9.9.9.1, ${ann}`, `9.9.9.2, ${ann}`, `x, ${ann}`, `9.9.9.3, ${ann}`)).toEqual([
        401, 401, 401, 429,
      ]);
      expect(await guesses(`${ann}, ${bob}`)).toEqual([401]);
    },
  );

  it('false: a warning says that requests are forwarded, once', async () => {
    await start('false');
    for (let n = 0; n < 3; n++) await guesses(ann);
    expect(app.logged.match(/TRUST_PROXY is false/g)).toHaveLength(1);
  });

  it('true: the far end of the chain', async () => {
    await start('true');
    expect(await guesses(`${ann}, 9.9.9.1`, `${ann}, 9.9.9.2`, `${ann}, 9.9.9.3`, ann)).toEqual([
      401, 401, 401, 429,
    ]);
  });

  it('one IPv6 network is one client', async () => {
    await start('1');
    expect(await guesses('2001:db8::1', '2001:db8::2', '2001:db8::ffff:3', '2001:db8::4')).toEqual([
      401, 401, 401, 429,
    ]);
    expect(await guesses('2001:db8:0:1::1')).toEqual([401]);
  });
});
