import { setTimeout as pause } from 'node:timers/promises';

/** Calls every `everyMs` until the result is neither `undefined` nor `false`, and returns it; rejects after `withinMs`. */
export async function eventually<T>(
  call: () => T | Promise<T>,
  withinMs = 30_000,
  everyMs = 10,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const response = await call();
    if (response !== undefined && response !== false) return response as Exclude<T, undefined | false>;
    if (performance.now() > deadline) throw new Error(`Not so within ${withinMs} ms: ${String(call)}`);
    await pause(everyMs);
  }
}
