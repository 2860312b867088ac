import { computePerSecond } from './sessions.js';

it.each([
  ['all cores', 2, 400],
  ['all cores', 4, 800],
  ['the JavaScript thread', 16, 1_000],
])('is limited by %s of %d', (_, cores, perSecond) => {
  expect(computePerSecond({ processorMs: 5, javascriptMs: 1 }, cores)).toBe(perSecond);
});
