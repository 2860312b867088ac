import fc from 'fast-check';
import { StoreUnavailable } from './clickhouse.errors.js';
import { Turns } from './turns.js';

const NEVER = new AbortController().signal;

/** Work that ends when it is told to. */
function work() {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((ok) => (end = ok));
  const state = { running: false, end, run: () => ((state.running = true), ended) };
  return state;
}

/** Lets everything that can go on go on. */
const settled = () => new Promise((ok) => setImmediate(ok));

describe('Turns', () => {
  it('lets so many run at once, and the others in their order', async () => {
    const turns = new Turns(2, 10, 1_000);
    const all = [work(), work(), work(), work()];
    const done = all.map(({ run }) => turns.take(NEVER, run));
    const running = () => all.map((one) => one.running);
    await settled();
    expect([running(), turns.waiting]).toEqual([[true, true, false, false], 2]);
    all[1]!.end();
    await settled();
    expect(running()).toEqual([true, true, true, false]);
    all[0]!.end();
    await settled();
    expect([running(), turns.waiting]).toEqual([[true, true, true, true], 0]);
    for (const { end } of all) end();
    await Promise.all(done);
  });

  it('lets those go first that are to go first, in their order', async () => {
    const turns = new Turns(1, 10, 1_000);
    const order: string[] = [];
    const take = (name: string, first?: boolean) =>
      turns.take(NEVER, () => Promise.resolve(order.push(name)), first);
    const running = work();
    const all = [
      turns.take(NEVER, running.run),
      take('a'),
      take('b', true),
      take('c', false),
      take('d', true),
    ];
    running.end();
    await Promise.all(all);
    expect(order).toEqual(['b', 'd', 'a', 'c']);
  });

  it('refuses at once when the line is full', async () => {
    const turns = new Turns(1, 1, 1_000);
    const [first, second] = [work(), work()];
    const done = [turns.take(NEVER, first.run), turns.take(NEVER, second.run)];
    await expect(turns.take(NEVER, work().run)).rejects.toThrow(StoreUnavailable);
    first.end();
    second.end();
    await Promise.all(done);
  });

  it('refuses when the turn does not come in time', async () => {
    const turns = new Turns(1, 10, 20);
    const first = work();
    const done = turns.take(NEVER, first.run);
    await expect(turns.take(NEVER, work().run)).rejects.toThrow(StoreUnavailable);
    expect(turns.waiting).toBe(0);
    first.end();
    await done;
  });

  it('throws the reason of a signal that aborts before the turn, and does not begin', async () => {
    const turns = new Turns(1, 10, 1_000);
    const [first, second] = [work(), work()];
    const done = turns.take(NEVER, first.run);
    const gone = new AbortController();
    const refused = expect(turns.take(gone.signal, second.run)).rejects.toThrow('gone');
    gone.abort(new Error('gone'));
    await refused;
    await expect(turns.take(gone.signal, second.run)).rejects.toThrow('gone');
    first.end();
    await done;
    expect([second.running, turns.waiting]).toEqual([false, 0]);
  });

  it('loses no turn, whatever becomes of those who wait', async () => {
    const fates = fc.constantFrom('well', 'badly', 'leaves at once', 'leaves as a turn is passed');
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fates, { maxLength: 20 }),
        async (atOnce, all) => {
          const turns = new Turns(atOnce, 100, 1_000);
          let running = 0;
          let most = 0;
          const each = all.map(async (fate) => {
            const gone = new AbortController();
            const taken = turns.take(gone.signal, async () => {
              most = Math.max(most, ++running);
              await settled();
              running--;
              if (fate === 'badly') throw new Error(fate);
            });
            if (fate === 'leaves at once') gone.abort(new Error(fate));
            if (fate === 'leaves as a turn is passed')
              setImmediate(() => {
                gone.abort(new Error(fate));
              });
            await taken.catch(() => undefined);
          });
          await Promise.all(each);
          expect([running, turns.waiting]).toEqual([0, 0]);
          expect(most).toBeLessThanOrEqual(atOnce);
          const after = Array.from({ length: atOnce }, work);
          const done = after.map(({ run }) => turns.take(NEVER, run));
          await settled();
          expect(after.every((one) => one.running)).toBe(true);
          for (const { end } of after) end();
          await Promise.all(done);
        },
      ),
    );
  });
});
