import fc from 'fast-check';
import { BINS_PER_OCTAVE, ZERO_BIN, findBin } from './bins.js';

const measured = fc.oneof(
  fc.nat({ max: 2 ** 32 - 1 }).map((ms) => (ms + 1) / 1000),
  fc.integer({ min: 1, max: 2 ** 44 }),
);

describe('findBin', () => {
  it('returns a bin whose middle is within 1.1 % of the value', () => {
    fc.assert(
      fc.property(measured, (value) => {
        const middle = 2 ** (findBin(value) / BINS_PER_OCTAVE);
        expect(Math.abs(middle - value) / value).toBeLessThan(0.011);
      }),
    );
  });

  it('returns no lower bin for a larger value, and the lowest for 0', () => {
    fc.assert(
      fc.property(measured, measured, (a, b) => {
        expect(findBin(Math.max(a, b))).toBeGreaterThanOrEqual(findBin(Math.min(a, b)));
        expect(findBin(a)).toBeGreaterThan(ZERO_BIN);
      }),
    );
    expect(findBin(0)).toBe(ZERO_BIN);
  });

  it.each([
    [1, 0],
    [2, 32],
    [0.5, -32],
    [0.001, -319],
    [2 ** 44, 1408],
    [(2 ** 31 + 5) / 1000, 673],
  ])('returns for %d the bin %d', (value, k) => {
    expect(findBin(value)).toBe(k);
  });
});
