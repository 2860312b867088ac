import { setTimeout as pause } from 'node:timers/promises';
import { CachedLookup } from './cached-lookup.js';

const TTL_MS = 250;
const LONG_MS = 60_000;

interface Lookup {
  resolve: (value: string | undefined) => void;
  reject: (error: Error) => void;
}

/** A source whose lookups end when the test says so. */
function source() {
  const lookups: Lookup[] = [];
  return {
    lookups,
    load: () =>
      new Promise<string | undefined>((resolve, reject) => {
        lookups.push({ resolve, reject });
      }),
  };
}

describe('CachedLookup', () => {
  it('shares one lookup between concurrent callers, and remembers its value', async () => {
    const cache = new CachedLookup<string | undefined>(LONG_MS);
    const { lookups, load } = source();
    const callers = [cache.find('a', load), cache.find('a', load)];
    expect(cache.peek('a')).toBeUndefined();
    lookups[0]!.resolve('value');
    expect(await Promise.all(callers)).toEqual(['value', 'value']);
    expect([await cache.find('a', load), cache.peek('a'), lookups.length]).toEqual(['value', 'value', 1]);
  });

  it('keeps keys apart', async () => {
    const cache = new CachedLookup<string>(LONG_MS);
    const values = ['a', 'b', 'a'].map((key) => cache.find(key, () => Promise.resolve(key)));
    expect(await Promise.all(values)).toEqual(['a', 'b', 'a']);
  });

  it('counts the TTL from the start of the lookup', async () => {
    const cache = new CachedLookup<string | undefined>(TTL_MS);
    const { lookups, load } = source();
    const first = cache.find('a', load);
    await pause(TTL_MS + 1);
    lookups[0]!.resolve('old');
    expect([await first, cache.peek('a')]).toEqual(['old', undefined]);
    void cache.find('a', load);
    expect(lookups).toHaveLength(2);
  });

  it('starts another lookup for a caller who comes after the TTL, while the first still runs', async () => {
    const cache = new CachedLookup<string | undefined>(TTL_MS);
    const { lookups, load } = source();
    const first = cache.find('a', load);
    await pause(TTL_MS + 1);
    const second = cache.find('a', load);
    lookups[0]!.resolve(undefined);
    lookups[1]!.resolve('new');
    expect([await first, await second]).toEqual([undefined, 'new']);
  });

  it('keeps the later lookup when an earlier one fails after it', async () => {
    const cache = new CachedLookup<string | undefined>(TTL_MS);
    const { lookups, load } = source();
    const first = cache.find('a', load);
    await pause(TTL_MS + 1);
    const second = cache.find('a', load);
    lookups[0]!.reject(new Error('away'));
    await expect(first).rejects.toThrow('away');
    const third = cache.find('a', load);
    lookups[1]!.resolve('new');
    expect([await second, await third, lookups.length]).toEqual(['new', 'new', 2]);
  });

  it('forgets errors, which reach all who waited, and undefined', async () => {
    const cache = new CachedLookup<string | undefined>(LONG_MS);
    const { lookups, load } = source();
    const callers = [cache.find('a', load), cache.find('a', load)];
    lookups[0]!.reject(new Error('away'));
    for (const caller of callers) await expect(caller).rejects.toThrow('away');
    const again = cache.find('a', load);
    lookups[1]!.resolve(undefined);
    expect(await again).toBeUndefined();
    void cache.find('a', load);
    expect(lookups).toHaveLength(3);
  });

  it('remembers null', async () => {
    const cache = new CachedLookup<string | null>(LONG_MS);
    await cache.find('a', () => Promise.resolve(null));
    expect(await cache.find('a', () => Promise.resolve('other'))).toBeNull();
  });

  it('neither remembers nor shares with a TTL of 0', async () => {
    const cache = new CachedLookup<string | undefined>(0);
    const { lookups, load } = source();
    const callers = [cache.find('a', load), cache.find('a', load)];
    for (const lookup of lookups) lookup.resolve('value');
    expect([await Promise.all(callers), cache.peek('a'), lookups.length]).toEqual([
      ['value', 'value'],
      undefined,
      2,
    ]);
  });

  it('holds 10,000 keys', async () => {
    const cache = new CachedLookup<number>(LONG_MS);
    for (let key = 0; key <= 10_000; key++) await cache.find(String(key), () => Promise.resolve(key));
    expect([cache.peek('0'), cache.peek('1'), cache.peek('10000')]).toEqual([undefined, 1, 10_000]);
  });
});
