import fc from 'fast-check';
import { withResolvers } from '../../shared/async/with-resolvers.js';
import { StoreUnavailable } from './clickhouse.errors.js';
import { GroupOverloaded, QueryLimiter } from './query-limiter.js';

const NEVER = new AbortController().signal;

/** Work that ends on demand. */
function work() {
  const { promise: ended, resolve: end } = withResolvers();
  const state = { running: false, end, run: () => ((state.running = true), ended) };
  return state;
}

/** Lets everything that can go on go on. */
const settled = () => new Promise((ok) => setImmediate(ok));

describe('QueryLimiter', () => {
  it('lets as many run at once as its limit allows, and the others in their order', async () => {
    const limiter = new QueryLimiter(2, 10, 1_000);
    const all = [work(), work(), work(), work()];
    const done = all.map(({ run }) => limiter.run(NEVER, run));
    const running = () => all.map((query) => query.running);
    await settled();
    expect([running(), limiter.waiting]).toEqual([[true, true, false, false], 2]);
    all[1]!.end();
    await settled();
    expect(running()).toEqual([true, true, true, false]);
    all[0]!.end();
    await settled();
    expect([running(), limiter.waiting]).toEqual([[true, true, true, true], 0]);
    for (const { end } of all) end();
    await Promise.all(done);
  });

  it('serves other groups while a group pauses, and the group afterwards', async () => {
    const limiter = new QueryLimiter(2, 10, 1_000);
    const order: string[] = [];
    const take = (name: string, group: number, pauseMs = 0) =>
      limiter.run(NEVER, () => Promise.resolve(order.push(name)), { group, groupPauseMs: () => pauseMs });
    const first = [take('a', 1, 50), take('b', 2, 50)];
    await Promise.all(first);
    const paused = [take('a again', 1), take('b again', 2)];
    await take('c', 3);
    expect([order, limiter.running, limiter.waiting]).toEqual([['a', 'b', 'c'], 0, 2]);
    await Promise.all(paused);
    expect([order.slice(3).sort(), limiter.waiting]).toEqual([['a again', 'b again'], 0]);
  });

  it('lets those go first that are to go first, in their order', async () => {
    const limiter = new QueryLimiter(1, 10, 1_000);
    const order: string[] = [];
    const take = (name: string, first?: boolean) =>
      limiter.run(NEVER, () => Promise.resolve(order.push(name)), { highPriority: first });
    const running = work();
    const all = [
      limiter.run(NEVER, running.run),
      take('a'),
      take('b', true),
      take('c', false),
      take('d', true),
    ];
    running.end();
    await Promise.all(all);
    expect(order).toEqual(['b', 'd', 'a', 'c']);
  });

  it('serves groups in rotation, each in its order', async () => {
    const limiter = new QueryLimiter(1, 100, 1_000);
    const order: string[] = [];
    const running = work();
    const all: Promise<unknown>[] = [limiter.run(NEVER, running.run, { group: 1 })];
    const take = (name: string, group?: number) =>
      all.push(limiter.run(NEVER, () => Promise.resolve(order.push(name)), { group }));
    for (const name of ['1a', '1b', '1c', '1d']) take(name, 1);
    for (const name of ['2a', '2b']) take(name, 2);
    take('none');
    running.end();
    await Promise.all(all);
    expect(order).toEqual(['1a', '2a', 'none', '1b', '2b', '1c', '1d']);
    expect(limiter.waiting).toBe(0);
  });

  it('leaves one place to other groups', async () => {
    const limiter = new QueryLimiter(3, 100, 1_000);
    const all = Array.from({ length: 5 }, work);
    const done = all.slice(0, 4).map(({ run }) => limiter.run(NEVER, run, { group: 1 }));
    const running = () => all.map((query) => query.running);
    await settled();
    expect([running(), limiter.running, limiter.waiting]).toEqual([[true, true, false, false, false], 2, 2]);
    done.push(limiter.run(NEVER, all[4]!.run, { group: 2 }));
    await settled();
    expect(running()).toEqual([true, true, false, false, true]);
    all[4]!.end();
    await settled();
    expect(running()).toEqual([true, true, false, false, true]);
    all[0]!.end();
    await settled();
    expect([running(), limiter.waiting]).toEqual([[true, true, true, false, true], 1]);
    for (const { end } of all) end();
    await Promise.all(done);
    expect([limiter.running, limiter.waiting]).toEqual([0, 0]);
  });

  it('rejects a group that has a quarter of the queue, and accepts others', async () => {
    const limiter = new QueryLimiter(1, 8, 1_000);
    const all = Array.from({ length: 4 }, work);
    const done = all.slice(0, 3).map(({ run }) => limiter.run(NEVER, run, { group: 1 }));
    await expect(limiter.run(NEVER, work().run, { group: 1 })).rejects.toThrow(GroupOverloaded);
    done.push(limiter.run(NEVER, all[3]!.run, { group: 2 }));
    for (const { end } of all) end();
    await Promise.all(done);
  });

  it('says whether it was others of the group for which the turn did not come in time', async () => {
    const limiter = new QueryLimiter(1, 100, 20);
    const running = work();
    const done = limiter.run(NEVER, running.run, { group: 3 });
    const outcomes = await Promise.allSettled(
      [1, 1, 2, 3].map((group) => limiter.run(NEVER, work().run, { group })),
    );
    expect(
      outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason instanceof GroupOverloaded),
    ).toEqual([false, true, false, true]);
    running.end();
    await done;
  });

  it('rejects at once when the queue is full', async () => {
    const limiter = new QueryLimiter(1, 1, 1_000);
    const [first, second] = [work(), work()];
    const done = [limiter.run(NEVER, first.run), limiter.run(NEVER, second.run)];
    await expect(limiter.run(NEVER, work().run)).rejects.toThrow(StoreUnavailable);
    first.end();
    second.end();
    await Promise.all(done);
  });

  it('rejects when no slot becomes free in time', async () => {
    const limiter = new QueryLimiter(1, 10, 20);
    const first = work();
    const done = limiter.run(NEVER, first.run);
    await expect(limiter.run(NEVER, work().run)).rejects.toThrow(StoreUnavailable);
    expect(limiter.waiting).toBe(0);
    first.end();
    await done;
  });

  it('throws the reason of a signal that aborts before the turn, and does not begin', async () => {
    const limiter = new QueryLimiter(1, 10, 1_000);
    const [first, second] = [work(), work()];
    const done = limiter.run(NEVER, first.run);
    const gone = new AbortController();
    const refused = expect(limiter.run(gone.signal, second.run)).rejects.toThrow('gone');
    gone.abort(new Error('gone'));
    await refused;
    await expect(limiter.run(gone.signal, second.run)).rejects.toThrow('gone');
    first.end();
    await done;
    expect([second.running, limiter.waiting]).toEqual([false, 0]);
  });

  it('loses no slot, with any outcome of queued work', async () => {
    const fates = fc.constantFrom('well', 'badly', 'leaves at once', 'leaves as a turn is passed');
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.tuple(fates, fc.option(fc.nat(2), { nil: undefined })), { maxLength: 20 }),
        async (concurrency, all) => {
          const limiter = new QueryLimiter(concurrency, 100, 1_000);
          let running = 0;
          let peak = 0;
          const each = all.map(async ([fate, group]) => {
            const gone = new AbortController();
            const finished = limiter.run(
              gone.signal,
              async () => {
                peak = Math.max(peak, ++running);
                await settled();
                running--;
                if (fate === 'badly') throw new Error(fate);
              },
              { group },
            );
            if (fate === 'leaves at once') gone.abort(new Error(fate));
            if (fate === 'leaves as a turn is passed')
              setImmediate(() => {
                gone.abort(new Error(fate));
              });
            await finished.catch(() => undefined);
          });
          await Promise.all(each);
          expect([running, limiter.waiting]).toEqual([0, 0]);
          expect(peak).toBeLessThanOrEqual(concurrency);
          const after = Array.from({ length: concurrency }, work);
          const done = after.map(({ run }) => limiter.run(NEVER, run));
          await settled();
          expect(after.every((query) => query.running)).toBe(true);
          for (const { end } of after) end();
          await Promise.all(done);
        },
      ),
    );
  });
});
