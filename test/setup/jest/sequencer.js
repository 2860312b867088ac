import Sequencer from '@jest/test-sequencer';

/** The part of the other suites beside which the slow ones run. */
const BESIDE_SLOW = 0.6;

/**
 * Spreads the slow suites over the first part of a run, in Jest's order: those that take minutes would
 * otherwise be the last ones, each alone, and together they are too much for two cores.
 */
export default class SlowSpread extends Sequencer {
  sort(tests) {
    const ordered = [...super.sort(tests)];
    const slow = ordered.filter(isSlow);
    const others = ordered.filter((test) => !isSlow(test));
    return [
      ...slow.map((test, index) => ({ test, place: (BESIDE_SLOW * index) / slow.length })),
      ...others.map((test, index) => ({ test, place: index / others.length })),
    ]
      .sort((a, b) => a.place - b.place)
      .map(({ test }) => test);
  }
}

function isSlow({ path }) {
  return path.endsWith('.slow.spec.ts');
}
