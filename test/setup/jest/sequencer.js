import Sequencer from '@jest/test-sequencer';

/** Kinds of suites in the order in which they begin. */
const KINDS = [/\.slow\.spec\.ts$/, /\.process\.spec\.ts$/, /\.store\.spec\.ts$/];

/**
 * Suites that start processes begin first: those that take minutes would otherwise be the last ones, each
 * alone on a machine with several cores. Within a kind the order is that of Jest.
 */
export default class SlowFirst extends Sequencer {
  sort(tests) {
    const kind = ({ path }) => {
      const index = KINDS.findIndex((pattern) => pattern.test(path));
      return index < 0 ? KINDS.length : index;
    };
    return [...super.sort(tests)].sort((a, b) => kind(a) - kind(b));
  }
}
