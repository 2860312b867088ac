import { findWeight } from './sampling.js';

const SPAN = '00f067aa0ba902b7';

describe('findWeight', () => {
  it.each([
    ['', 1],
    ['ot=th:0', 1],
    ['ot=th:8', 2],
    ['ot=rv:123456789abcde;th:c', 4],
    ['vendor=th:8, ot=th:e', 8],
    ['vendor=th:8', 1],
    ['ot=th:', 1],
    ['ot=th:x', 1],
    ['ot=th:888888888888888', 1],
    ['ot=th:fff', 4_096],
    ['ot=th:ffffffffffffff', Infinity],
  ])('returns of %j the weight %d', (traceState, weight) => {
    expect(findWeight(traceState, SPAN)).toBe(weight);
  });

  it('returns whole weights whose mean is the inverse of the probability, the same for a span each time', () => {
    const ids = Array.from({ length: 10_000 }, (_, n) => n.toString(16).padStart(16, '0'));
    // 11 of 16 spans are kept.
    const weigh = () => ids.map((id) => findWeight('ot=th:5', id));
    const weights = weigh();
    expect(new Set(weights)).toEqual(new Set([1, 2]));
    expect(weights.reduce((sum, weight) => sum + weight, 0) / ids.length).toBeCloseTo(16 / 11, 1);
    expect(weigh()).toEqual(weights);
  });
});
