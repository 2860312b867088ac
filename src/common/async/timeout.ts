/** `work` took longer than it was given. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Settles as `work` does, or rejects with `TimeoutError` after `ms` milliseconds.
 *
 * One timer would blame `work` for a busy event loop or a machine that stood still: it fires late, and before the
 * answers are read that came in meanwhile. So the time is given in two halves, the second from when the first was over.
 */
export function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      timer = setTimeout(() => {
        reject(new TimeoutError(`no answer within ${ms} ms`));
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
