/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: '\\.spec\\.ts$',
  // `npm test` leaves out the slow suites, which start and kill processes, open a browser or wait for time
  // limits (CONTRIBUTING.md).
  testPathIgnorePatterns: process.env.SKIP_SLOW ? ['\\.slow\\.spec\\.ts$'] : [],
  testTimeout: 120_000,
  maxWorkers: 2,
  // What the product says in a run is searched for secrets at its end.
  globalSetup: '<rootDir>/test/setup/secrets/global-setup.ts',
  globalTeardown: '<rootDir>/test/setup/secrets/global-teardown.ts',
  setupFiles: ['<rootDir>/test/setup/secrets/intercept-api-keys.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'] },
  // Nest 12 is ESM only and Jest's own require() cannot load ESM before Node 24, so it is transformed too.
  transformIgnorePatterns: [
    '/node_modules/(?!(@nestjs|temporal-polyfill|temporal-utils|file-type|strtok3|token-types|uint8array-extras|@tokenizer|@borewit|es-toolkit|hyparquet|hyparquet-writer)/)',
  ],
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
