/**
 * Runs a task at an interval; the task handles its own errors. The next run is skipped while the task still
 * runs: otherwise tasks on a store that does not respond would queue up, and a stop would wait for all of
 * them. The timer does not keep the process alive.
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
