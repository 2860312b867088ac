import { setTimeout as pause } from 'node:timers/promises';

/** Asks again and again until the answer is neither `undefined` nor `false`, and returns it; rejects after `withinMs`. */
export async function eventually<T>(
  call: () => T | Promise<T>,
  withinMs = 10_000,
  everyMs = 2,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const response = await call();
    if (response !== undefined && response !== false) return response as Exclude<T, undefined | false>;
    if (performance.now() > deadline) throw new Error(`Not so within ${withinMs} ms: ${String(call)}`);
    await pause(everyMs);
  }
}
