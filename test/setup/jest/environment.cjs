const { TestEnvironment } = require('jest-environment-node');

/** What Jest keeps in the global object; each suite has its own. */
const JEST_KEYS = ['EVENT_HANDLERS', '$$jest-matchers-object'].map((name) => Symbol.for(name));

/** The environment of all suites of a worker: modules that `runtime.cjs` keeps belong to its context. */
let shared;

module.exports = class SharedEnvironment extends TestEnvironment {
  constructor(...given) {
    if (shared) return shared;
    super(...given);
    shared = this;
  }

  async teardown() {
    this.fakeTimers.dispose();
    this.fakeTimersModern.dispose();
    for (const key of JEST_KEYS) delete this.global[key];
  }
};
