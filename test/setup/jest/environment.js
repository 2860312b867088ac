import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/**
 * Runs a suite in the process's own realm, where `runtime.js` shares modules among suites: an `Error` of a
 * package is an `Error` of the suite. Restores what a suite changes.
 */
export default class ProcessEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimersModern;
  variables = { ...process.env };
  restored = { console: globalThis.console, exit: process.exit };

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Jest calls it, and `runtime.js` compiles without it. */
  getVmContext() {
    return null;
  }

  async setup() {}

  async teardown() {
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    globalThis.console = this.restored.console;
    process.exit = this.restored.exit;
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
  }
}
