/**
 * Settles as `work` does, or rejects with the signal's reason when it aborts; the work itself continues.
 *
 * Unlike `Promise.race`, it leaves no listener on a long-lived signal.
 */
export function raceAbort<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work
      .finally(() => {
        signal.removeEventListener('abort', abort);
      })
      .then(resolve, reject);
  });
}
