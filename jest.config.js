// Stores run in the workers, and each of their statements takes a thread of libuv, which has four by default.
// This is the product's default (src/entry/bootstrap/thread-pool.cts).
process.env.UV_THREADPOOL_SIZE ??= '24';

/** @type {import('jest').Config} */
export default {
  // Suites of a worker share packages and sources: loading them took more time than many tests.
  testEnvironment: '<rootDir>/test/setup/jest/environment.js',
  runtime: '<rootDir>/test/setup/jest/runtime.js',
  testSequencer: '<rootDir>/test/setup/jest/sequencer.js',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: '\\.spec\\.ts$',
  // `npm test` leaves out the slow suites, which start and kill processes, open a browser or wait for time
  // limits (CONTRIBUTING.md).
  testPathIgnorePatterns: process.env.SKIP_SLOW ? ['\\.slow\\.spec\\.ts$'] : [],
  // A test that takes seconds takes minutes while other suites start processes.
  testTimeout: 300_000,
  // Before each test: one that fails must leave no store behind whose inserts do nothing.
  restoreMocks: true,
  // On two cores: a test often waits, for the engine, a process or a time limit.
  maxWorkers: 3,
  // What the product says in a run is searched for secrets at its end.
  globalSetup: '<rootDir>/test/setup/secrets/global-setup.ts',
  globalTeardown: '<rootDir>/test/setup/secrets/global-teardown.ts',
  setupFiles: ['<rootDir>/test/setup/secrets/intercept-api-keys.ts'],
  moduleNameMapper: {
    // Threads of the product are started with the sources.
    '/thread-file\\.js$': '<rootDir>/test/setup/jest/thread-file.js',
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'],
  },
  transform: {
    '^.+\\.[cm]?[jt]s$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        module: { type: 'commonjs' },
        jsc: {
          target: 'es2023',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
      },
    ],
  },
};
