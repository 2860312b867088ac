import { setImmediate as nextTurn } from 'node:timers/promises';
import { BackgroundTasks } from './background-tasks.js';

/** Tasks that end when the test says so. */
function createTasks() {
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  return {
    started,
    task: (name: string) => () => {
      started.push(name);
      return new Promise<void>((resolve, reject) => {
        ends.set(name, (error) => {
          if (error) reject(error);
          else resolve();
        });
      });
    },
    end: async (name: string, error?: Error) => {
      ends.get(name)?.(error);
      await nextTurn();
    },
  };
}

describe('BackgroundTasks', () => {
  it('starts as many tasks as may run, and the next one when the oldest ends', async () => {
    const { started, task, end } = createTasks();
    const tasks = new BackgroundTasks(2);
    await tasks.start(task('a'));
    await tasks.start(task('b'));
    const third = tasks.start(task('c'));
    await end('b');
    expect(started).toEqual(['a', 'b']);
    await end('a');
    await third;
    expect(started).toEqual(['a', 'b', 'c']);
    await end('c');
    await tasks.end();
  });

  it('throws an error once, when no task runs any more, and starts no other', async () => {
    const { started, task, end } = createTasks();
    const tasks = new BackgroundTasks(2);
    await tasks.start(task('a'));
    await tasks.start(task('b'));
    const outcome = tasks.start(task('c')).then(
      () => 'started',
      (error: unknown) => String(error),
    );
    await end('a', new Error('away'));
    expect(await Promise.race([outcome, nextTurn('waits for b')])).toBe('waits for b');
    await end('b', new Error('away as well'));
    expect(await outcome).toBe('Error: away');
    expect(started).toEqual(['a', 'b']);
    await tasks.end();
  });
});
