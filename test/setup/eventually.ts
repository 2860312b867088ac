import { setTimeout as pause } from 'node:timers/promises';

/**
 * Calls until the result is neither `undefined` nor `false`, and returns it; rejects after `withinMs`.
 *
 * @param everyMs milliseconds between two calls; without it, more of them where a call takes long, because
 *   other suites need the processor, but a quarter of a second at most, because a state may not last
 */
export async function eventually<T>(
  call: () => T | Promise<T>,
  withinMs = 30_000,
  everyMs?: number,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const startedAt = performance.now();
    const response = await call();
    if (response !== undefined && response !== false) return response as Exclude<T, undefined | false>;
    const now = performance.now();
    if (now > deadline) throw new Error(`Not so within ${withinMs} ms: ${String(call)}`);
    await pause(everyMs ?? Math.min(250, Math.max(10, 3 * (now - startedAt))));
  }
}
