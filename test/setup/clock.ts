/** Everything but `Date`: timers, sockets and the engine go on as usual. */
const REAL = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

/**
 * Holds the application's clock at an instant (milliseconds since the epoch; by default this one), so that a
 * rule about "now" can be tested to the millisecond. The engine keeps its own clock. Undone by
 * `releaseClock`.
 */
export function holdClock(now = Date.now()): number {
  jest.useFakeTimers({ now, doNotFake: [...REAL] });
  return now;
}

export function releaseClock() {
  jest.useRealTimers();
}
