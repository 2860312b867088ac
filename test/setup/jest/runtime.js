import { createRequire, isBuiltin } from 'node:module';
import { join, sep } from 'node:path';
import { compileFunction } from 'node:vm';
// Its matchers are in a symbol of the global object, which must be older than those of the first suite.
import '@jest/expect';
import JestRuntime from 'jest-runtime';

const ROOT = join(import.meta.dirname, '../../..');
const SOURCES = join(ROOT, 'src') + sep;
/** Keep only what they compiled of the OpenAPI document, which takes a third of a second. */
const STATELESS = ['document.ts', 'conforms.ts'].map((name) => join(ROOT, 'test/setup', name));
/** Below `node_modules`, where Node.js does not warn of ES modules that are required. */
const requirePackage = createRequire(join(ROOT, 'node_modules', 'tests.js'));

/** Shared modules by path, and their source maps: those of all suites of this worker. */
const sources = new Map();
const sourceMaps = new Map();
let current;

/**
 * Loads packages by Node.js itself, and `src` once for all suites of a worker. Most files of `test` are
 * loaded for each suite, because they register hooks and keep state. There are no mocks of modules.
 */
export default class SharingRuntime extends JestRuntime {
  symbols = new Set(Object.getOwnPropertySymbols(globalThis));

  constructor(...given) {
    super(...given);
    current = this;
    const { executor, registries, transformCache } = this;
    executor.compile = (code, filename) =>
      compileFunction(code, executor.injectedModuleParameters, { filename });
    for (const [path, module] of sources) registries.getActiveCjsRegistry().set(path, module);
    for (const [path, map] of sourceMaps) transformCache.getSourceMaps().set(path, map);
  }

  /** A module that an earlier suite loaded may import another one now. */
  requireModuleOrMock(from, name) {
    return current.requireModule(from, name);
  }

  requireModule(from, name, options, isActual) {
    const isPackage = name !== undefined && !/^[./#]/.test(name) && !isBuiltin(name);
    if (isPackage && !options?.isInternalModule) return requirePackage(name);
    return super.requireModule(from, name, options, isActual);
  }

  /** Packages of Jest keep nothing of a suite; the runner of tests, which is given by its path, does. */
  requireInternalModule(from, to) {
    return to === undefined ? super.requireInternalModule(from) : createRequire(from)(to);
  }

  teardown() {
    for (const [path, module] of this.registries.getActiveCjsRegistry()) {
      const isShared = STATELESS.includes(path) || (path.startsWith(SOURCES) && !path.endsWith('.spec.ts'));
      if (isShared && module.loaded) sources.set(path, module);
    }
    for (const [path, map] of this.transformCache.getSourceMaps()) sourceMaps.set(path, map);
    super.teardown();
    // By them Jest keeps the suite's tests, handlers of their events, and time limits.
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (!this.symbols.has(symbol)) Reflect.deleteProperty(globalThis, symbol);
  }
}
