import { keyIdentifier } from './audit.js';

it.each([
  ['abcDEF1', 'abcDEF1'],
  [`abcDEF1.${'s'.repeat(32)}`, 'abcDEF1'],
  ['s'.repeat(32), 'malformed'],
  [`.${'s'.repeat(32)}`, 'malformed'],
  ['', 'malformed'],
])('tells of %j no more than the public part of a key', (typed, told) => {
  expect(keyIdentifier(typed)).toBe(told);
});
