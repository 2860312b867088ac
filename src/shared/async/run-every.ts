/**
 * Runs a task, which handles its own errors, at an interval. While it runs, it is not started again: tasks on
 * a store that does not respond would queue up, and a stop would wait for all of them. The timer does not
 * keep the process alive.
 */
export function runEvery(intervalMs: number, task: () => Promise<void>): NodeJS.Timeout {
  let isRunning = false;
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await task();
    } finally {
      isRunning = false;
    }
  };
  return setInterval(() => void run(), intervalMs).unref();
}
