import fc from 'fast-check';
import { Random, Weighted } from './random.js';

describe('Random', () => {
  it('returns the same sequence for the same seed', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat(), (seed, stream) => {
        expect(new Random(seed, stream).hex(64)).toBe(new Random(seed, stream).hex(64));
      }),
    );
  });

  it('returns different sequences for neighbouring seeds and streams', () => {
    const seeds = Array.from({ length: 1_000 }, (_, seed) => [seed, seed + 2 ** 32]).flat();
    const texts = seeds.flatMap((seed) => [new Random(seed).uuid(), new Random(seed, 1).uuid()]);
    expect(new Set(texts).size).toBe(4_000);
  });

  it('makes UUIDs of version 4', () => {
    const random = new Random(1);
    for (let i = 0; i < 100; i++)
      expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('stays within the bounds of whole numbers and reaches both', () => {
    const random = new Random(2);
    const numbers = Array.from({ length: 1_000 }, () => random.integer(3, 7));
    expect([...new Set(numbers)].sort()).toEqual([3, 4, 5, 6, 7]);
  });

  it.each([0.5, 4, 20])('counts %p events on average where this is the mean', (mean) => {
    const random = new Random(3);
    const counts = Array.from({ length: 5_000 }, () => random.poisson(mean));
    const average = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    expect(average / mean).toBeCloseTo(1, 1);
  });

  it('spreads log-normal numbers evenly around the median', () => {
    const random = new Random(4);
    const above = Array.from({ length: 5_000 }, () => random.logNormal(40, 0.6)).filter((n) => n > 40);
    expect(above.length / 5_000).toBeCloseTo(0.5, 1);
  });
});

describe('Weighted', () => {
  it('picks in proportion to the weights', () => {
    const random = new Random(5);
    const weighted = new Weighted([
      ['often', 9],
      ['seldom', 1],
      ['never', 0],
    ]);
    const picks = Array.from({ length: 5_000 }, () => weighted.pick(random));
    expect(picks.filter((pick) => pick === 'often').length / 5_000).toBeCloseTo(0.9, 1);
    expect(picks).toContain('seldom');
    expect(picks).not.toContain('never');
  });
});
