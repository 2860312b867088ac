/** `work` took longer than its time limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Settles as `work` does, or rejects with `TimeoutError` after `ms` milliseconds.
 *
 * A timer that fires after the event loop was blocked runs before pending I/O. Two half-length timers give that I/O one
 * loop turn before a timeout is reported.
 */
export function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      timer = setTimeout(() => {
        reject(new TimeoutError(`no response within ${ms} ms`));
      }, ms / 2);
    }, ms / 2);
    const settled = <V>(settle: (value: V) => void) => {
      return (value: V) => {
        clearTimeout(timer);
        settle(value);
      };
    };
    work.then(settled(resolve), settled(reject));
  });
}
