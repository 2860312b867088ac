import fc from 'fast-check';
import { createPathTest } from './path-test.js';

describe('createPathTest', () => {
  const text = fc.string({ unit: fc.constantFrom('/', 'a', 'b', '*', '.'), maxLength: 8 });

  it('matches as a regular expression does in which * is any text', () => {
    fc.assert(
      fc.property(text, text, (pattern, path) => {
        const escaped = pattern.replaceAll('.', '\\.').replaceAll('*', '[^]*');
        expect(createPathTest(pattern)(path)).toBe(new RegExp(`^${escaped}$`).test(path));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes no time with many asterisks', () => {
    const began = performance.now();
    expect(createPathTest('*a'.repeat(500) + 'b')('a'.repeat(1_000))).toBe(false);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('matches everything without a pattern', () => {
    expect(createPathTest(undefined)('/x')).toBe(true);
  });
});
