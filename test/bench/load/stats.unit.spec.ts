import { computeStats, median } from './stats.js';

describe('computeStats', () => {
  it('summarizes samples in any order', () => {
    const took = Array.from({ length: 101 }, (_, index) => (index * 37) % 101);
    expect(computeStats(took)).toEqual({ samples: 101, p50: 50, p95: 95, mean: 50 });
  });

  it('takes the place between two samples in proportion', () => {
    expect(computeStats([1, 3]).p50).toBe(2);
    expect(computeStats([0, 10]).p95).toBeCloseTo(9.5);
  });
});

describe('median', () => {
  it.each([
    [[5], 5],
    [[9, 1, 5], 5],
    [[4, 1, 3, 2], 2.5],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });
});
