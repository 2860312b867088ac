import { retryAfterSeconds } from './window.counter.js';

it.each([
  [60_000, 60],
  [59_001, 60],
  [59_000, 59],
  [1, 1],
  [0, 1],
  [-5, 1],
])('with %i ms left, Retry-After is %i s', (leftMs, seconds) => {
  expect(retryAfterSeconds({ hits: 1, endsAtMs: 0, leftMs })).toBe(seconds);
});
