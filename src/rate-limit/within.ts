/** `work` took longer than it was given. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/**
 * Settles as `work` does, or rejects with `TimedOut` after `ms` milliseconds.
 *
 * A timer alone would blame `work` for a busy event loop: after a long turn, timers fire before the answers are read
 * that came in meanwhile. So what has arrived is read before the verdict.
 */
export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => {
        reject(new TimedOut(`no answer within ${ms} ms`));
      });
    }, ms);
    const settled = <V>(settle: (value: V) => void) => {
      return (value: V) => {
        clearTimeout(timer);
        settle(value);
      };
    };
    work.then(settled(resolve), settled(reject));
  });
}
