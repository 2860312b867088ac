/** `work` took longer than its time limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * A late timeout waits this many times its lateness for pending I/O, at most half its limit or
 * `MAX_GRACE_MS`.
 */
const GRACE_FACTOR = 10;
const MAX_GRACE_MS = 1_000;

/**
 * Calls `expire` after `ms` milliseconds, unless the returned function is called before.
 *
 * After a blocked event loop or a suspended process, timers run before pending I/O. So a late timer first
 * lets that I/O finish.
 */
export function startTimeout(ms: number, expire: () => void): () => void {
  const dueAt = performance.now() + ms;
  let timer = setTimeout(() => {
    const lateMs = Math.max(0, performance.now() - dueAt);
    timer = setTimeout(expire, Math.min(lateMs * GRACE_FACTOR, ms / 2, MAX_GRACE_MS));
  }, ms);
  return () => {
    clearTimeout(timer);
  };
}

/** Settles as `work` does, or rejects with `TimeoutError` after `ms` milliseconds. */
export function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const clear = startTimeout(ms, () => {
      reject(new TimeoutError(`no response within ${ms} ms`));
    });
    work.finally(clear).then(resolve, reject);
  });
}
