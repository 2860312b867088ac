import fc from 'fast-check';
import { MemoryCounter } from './memory.counter.js';

const WINDOW_MS = 60_000;

function counterAt(start: number, maxWindows?: number) {
  const clock = { now: start };
  return { clock, counter: new MemoryCounter({ windowMs: WINDOW_MS, maxWindows, now: () => clock.now }) };
}

describe('MemoryCounter', () => {
  it('begins a window with its first hit, and ends it 60 s later, independent of later hits', async () => {
    const { clock, counter } = counterAt(1_000);
    expect(await counter.hit('a')).toEqual({ hits: 1, endsAtMs: 61_000, leftMs: 60_000 });
    clock.now = 60_999;
    expect(await counter.hit('a')).toEqual({ hits: 2, endsAtMs: 61_000, leftMs: 1 });
    clock.now = 61_000;
    expect(await counter.hit('a')).toEqual({ hits: 1, endsAtMs: 121_000, leftMs: 60_000 });
  });

  it('looks without counting and without beginning a window', async () => {
    const { clock, counter } = counterAt(0);
    expect(await counter.peek('a')).toBeNull();
    await counter.hit('a');
    expect(await counter.peek('a')).toEqual({ hits: 1, endsAtMs: 60_000, leftMs: 60_000 });
    expect(await counter.peek('a')).toMatchObject({ hits: 1 });
    clock.now = 60_000;
    expect(await counter.peek('a')).toBeNull();
  });

  it('begins anew when the clock was set back, rather than blocking a key for that long', async () => {
    const { clock, counter } = counterAt(3_600_000);
    await counter.hit('a');
    clock.now = 0;
    expect(await counter.hit('a')).toEqual({ hits: 1, endsAtMs: 60_000, leftMs: 60_000 });
  });

  it('counts each key as a plain model does', async () => {
    const steps = fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), after: fc.nat(40_000) }), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (hits) => {
        const { clock, counter } = counterAt(0);
        const model = new Map<string, { hits: number; endsAtMs: number }>();
        for (const { key, after } of hits) {
          clock.now += after;
          const open = model.get(key);
          const next =
            open && clock.now < open.endsAtMs
              ? { ...open, hits: open.hits + 1 }
              : { hits: 1, endsAtMs: clock.now + WINDOW_MS };
          model.set(key, next);
          expect(await counter.hit(key)).toMatchObject(next);
        }
      }),
    );
  });

  it('goes on from a window that another counter began, by its own clock', async () => {
    const { clock, counter } = counterAt(1_000);
    counter.seed('a', { hits: 7, endsAtMs: 500_000, leftMs: 20_000 });
    expect(await counter.hit('a')).toEqual({ hits: 8, endsAtMs: 500_000, leftMs: 20_000 });
    counter.seed('a', { hits: 6, endsAtMs: 500_000, leftMs: 20_000 });
    expect(await counter.peek('a')).toMatchObject({ hits: 8 });
    counter.seed('a', { hits: 12, endsAtMs: 500_000, leftMs: 20_000 });
    expect(await counter.peek('a')).toMatchObject({ hits: 12 });
    clock.now = 21_000;
    expect(await counter.hit('a')).toEqual({ hits: 1, endsAtMs: 81_000, leftMs: 60_000 });
    counter.seed('a', { hits: 3, endsAtMs: 600_000, leftMs: 60_000 });
    expect(await counter.peek('a')).toEqual({ hits: 3, endsAtMs: 600_000, leftMs: 60_000 });
  });

  it('lets go of ended windows as new ones come', async () => {
    const { clock, counter } = counterAt(0);
    for (let n = 0; n < 1_000; n++) await counter.hit(`old-${n}`);
    clock.now = WINDOW_MS;
    for (let n = 0; n < 1_000; n++) await counter.hit(`new-${n}`);
    expect(counter.size).toBe(1_000);
  });

  it('never holds more windows than it may: the oldest gives way', async () => {
    const { counter } = counterAt(0, 3);
    for (const key of ['a', 'b', 'c', 'd']) await counter.hit(key);
    expect(counter.size).toBe(3);
    expect(await counter.peek('a')).toBeNull();
    expect(await counter.peek('b')).not.toBeNull();
  });

  it('keeps the windows of a key, however many of another kind there are', async () => {
    const { counter } = counterAt(0, 3);
    await counter.hit('key:a');
    for (let n = 0; n < 100; n++) await counter.hit(`auth_failure:${n}`);
    expect(await counter.hit('key:a')).toMatchObject({ hits: 2 });
    expect(counter.size).toBe(4);
  });
});
