import { setTimeout as pause } from 'node:timers/promises';
import { Slices } from './slices.js';

function workFor(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('a wait that serves nobody else does not begin a slice, however often it is repeated', async () => {
  const work = new Slices();
  let isServed = false;
  setImmediate(() => {
    isServed = true;
  });
  for (let step = 0; step < 3; step++) {
    workFor(2);
    await work.wait(Promise.resolve());
  }
  expect([work.isOver, isServed]).toEqual([true, false]);
  await work.giveWay();
  expect([work.isOver, isServed]).toEqual([false, true]);
});

it('the time of a wait is no work', async () => {
  const work = new Slices();
  workFor(2);
  await work.wait(pause(100));
  expect(work.spentMs).toBeGreaterThanOrEqual(2);
  expect(work.spentMs).toBeLessThan(100);
});

it('works that give way take a turn each, in which input is served', async () => {
  const order: string[] = [];
  const run = async (name: string) => {
    const work = new Slices();
    for (let step = 0; step < 2; step++) {
      order.push(name);
      await work.giveWay();
    }
  };
  await Promise.all([run('a'), run('b')]);
  expect(order).toEqual(['a', 'b', 'a', 'b']);
});
