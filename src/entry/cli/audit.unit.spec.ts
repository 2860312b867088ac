import { keyIdentifier } from './audit.js';

it.each([
  ['abcDEF1', 'abcDEF1'],
  [`abcDEF1.${'s'.repeat(32)}`, 'abcDEF1'],
  ['s'.repeat(32), 'malformed'],
  [`.${'s'.repeat(32)}`, 'malformed'],
  ['', 'malformed'],
])('logs only the public part of %j', (typed, logged) => {
  expect(keyIdentifier(typed)).toBe(logged);
});
