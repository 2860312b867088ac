const { default: Runtime } = require('jest-runtime');

/** The modules that suites of this worker have loaded, by path. */
const kept = new Map();

/**
 * Jest's runtime, but the suites of a worker share the modules that they import. To load these takes longer
 * than most suites run. A suite that changes the state of a module calls `jest.resetModules()` at its end.
 */
module.exports = class SharedRuntime extends Runtime {
  constructor(...given) {
    super(...given);
    this.registries.moduleRegistry = kept;
  }

  teardown() {
    kept.delete(this._testPath);
    this.registries.moduleRegistry = new Map();
    super.teardown();
    // A kept module may load another one later, on demand, through the runtime that loaded it.
    this.registries.moduleRegistry = kept;
    this.testState.enterTestCode();
  }
};
