import { eventually } from '../setup/eventually.js';
import { BatchQueue } from '../../src/write/batches/batch-queue.js';

/** A commit that the test ends. */
function controlled() {
  const batches: number[][] = [];
  const ends: { resolve: (failed?: Map<number, Error>) => void; reject: (why: Error) => void }[] = [];
  const commit = (items: number[]) =>
    new Promise<ReadonlyMap<number, Error>>((ok, reject) => {
      batches.push(items);
      ends.push({
        resolve: (failed = new Map()) => {
          ok(failed);
        },
        reject,
      });
    });
  return { batches, ends, queue: new BatchQueue(commit, 0) };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('BatchQueue', () => {
  it('commits together what comes together, and what comes meanwhile after it', async () => {
    const { batches, ends, queue } = controlled();
    const first = [queue.add(1, 1, 1), queue.add(2, 1, 1)];
    await turn();
    const second = [queue.add(3, 1, 1), queue.add(4, 1, 1)];
    await turn();
    expect(batches).toEqual([[1, 2]]);
    ends[0]!.resolve();
    await Promise.all(first);
    await eventually(() => batches.length === 2);
    expect(batches).toEqual([
      [1, 2],
      [3, 4],
    ]);
    ends[1]!.resolve();
    await Promise.all(second);
  });

  it('settles each item as its batch, and continues', async () => {
    const { ends, queue } = controlled();
    const failed = queue.add(1, 1, 1);
    await turn();
    ends[0]!.reject(new Error('no store'));
    await expect(failed).rejects.toThrow('no store');
    const next = queue.add(2, 1, 1);
    await eventually(() => ends.length === 2);
    ends[1]!.resolve();
    await expect(next).resolves.toBeUndefined();
  });

  it('rejects an item that failed alone, and resolves the others of its batch', async () => {
    const { ends, queue } = controlled();
    const [first, second] = [queue.add(1, 1, 1), queue.add(2, 1, 1)];
    await turn();
    ends[0]!.resolve(new Map([[1, new Error('refused')]]));
    await expect(first).rejects.toThrow('refused');
    await expect(second).resolves.toBeUndefined();
  });

  it('bounds a group by bytes and by items, and takes one that is larger than the bound alone', async () => {
    const { batches, queue } = controlled();
    const ignore = () => undefined;
    const large = 20 * 1024 * 1024;
    queue.add(0, large, 1).catch(ignore);
    queue.add(1, large, 1).catch(ignore);
    await turn();
    expect(batches).toEqual([[0]]);
    const { batches: many, queue: other } = controlled();
    for (let item = 0; item < 2_500; item++) other.add(item, 1, 1).catch(ignore);
    await turn();
    expect(many[0]).toHaveLength(2_000);
  });

  it('lets a full batch of many senders wait no longer', async () => {
    const { batches, ends, queue } = controlled();
    const first = Array.from({ length: 20 }, (_, item) => queue.add(item, 1, 1));
    await turn();
    // Twice this time is how long the next batch waits.
    await new Promise((resolve) => setTimeout(resolve, 150));
    ends[0]!.resolve();
    await Promise.all(first);
    const second = [queue.add(20, 1, 1)];
    await turn();
    expect(batches).toHaveLength(1);
    second.push(queue.add(21, 16 * 1024 * 1024, 1));
    await new Promise(setImmediate);
    expect(batches).toHaveLength(2);
    ends[1]!.resolve();
    await eventually(() => batches.length === 3);
    expect(batches.slice(1)).toEqual([[20], [21]]);
    ends[2]!.resolve();
    await Promise.all(second);
  });

  it('takes items of all groups in rotation, and each group in its order', async () => {
    const { batches, ends, queue } = controlled();
    const quarter = 4 * 1024 * 1024;
    const added = [queue.add(0, 1, 1)];
    await turn();
    for (const item of [1, 2, 3, 4, 5, 6]) added.push(queue.add(item, quarter, 1));
    added.push(queue.add(20, quarter, 2), queue.add(30, 1, 3), queue.add(21, quarter, 2));
    for (const [index, expected] of [[0], [1, 20, 30, 2], [21, 3, 4, 5], [6]].entries()) {
      await eventually(() => batches.length > index);
      expect(batches.at(-1)).toEqual(expected);
      ends.at(-1)!.resolve();
    }
    await Promise.all(added);
    expect(queue.length).toBe(0);
  });

  it('does other work only while no group is committed', async () => {
    const { ends, queue } = controlled();
    let isDone = false;
    const added = queue.add(1, 1, 1);
    await turn();
    const between = queue.runExclusive(() => {
      isDone = true;
      return Promise.resolve();
    });
    await turn();
    expect(isDone).toBe(false);
    ends[0]!.resolve();
    await Promise.all([added, between]);
    expect(isDone).toBe(true);
  });
});
