import { createNodeResolver, importX } from 'eslint-plugin-import-x';

/**
 * The rooms of the product from the ground up, as files and folders: a room imports only rooms before it.
 * docs/architecture.md says what each is for.
 */
export const ROOMS = [
  ['src/shared'],
  ['src/config'],
  ['src/telemetry'],
  ['src/store'],
  ['src/coordination'],
  ['src/platform'],
  ['src/access'],
  ['src/records'],
  ['src/write'],
  ['src/sources'],
  ['src/queries'],
  ['src/api'],
  ['src/mcp'],
  ['src/alerts'],
  ['src/ops'],
  ['src/app.module.ts', 'src/collector.module.ts'],
  ['src/entry'],
  ['src/main.cts', 'src/cli.cts'],
];

/** A program of its own, for browsers. */
const DASHBOARD = 'src/entry/dashboard';
const BESIDE_DASHBOARD = ['bootstrap', 'cli', 'demo'].map((name) => `src/entry/${name}`);

const upward = ROOMS.slice(0, -1).map((room, index) => ({
  target: room,
  from: ROOMS.slice(index + 1).flat(),
  message: `It lies above ${room.join(' and ')}: a room imports only rooms below it (docs/architecture.md#rooms).`,
}));

export const rooms = {
  files: ['src/**/*.{ts,tsx}'],
  plugins: { 'import-x': importX },
  settings: {
    'import-x/resolver-next': [
      createNodeResolver({ extensionAlias: { '.js': ['.ts', '.tsx', '.d.ts', '.js'], '.cjs': ['.cts'] } }),
    ],
  },
  rules: {
    'import-x/no-restricted-paths': [
      'error',
      {
        basePath: import.meta.dirname,
        zones: [
          ...upward,
          { target: 'src', from: 'test', message: 'The product does not depend on its tests.' },
          {
            target: DASHBOARD,
            from: [...ROOMS.flat().filter((path) => path !== 'src/entry'), ...BESIDE_DASHBOARD],
            message: 'The dashboard is a program of its own: it knows the API by its OpenAPI document.',
          },
          { target: BESIDE_DASHBOARD, from: DASHBOARD, message: 'The dashboard is a program for browsers.' },
        ],
      },
    ],
  },
};
