import js from '@eslint/js';
import stylistic from '@stylistic/eslint-plugin';
import prettier from 'eslint-config-prettier';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';
import { rooms } from './eslint.rooms.js';

export default defineConfig(
  {
    ignores: [
      'dist/',
      'dist-bench/',
      'data/',
      'coverage/',
      '.cache/',
      'src/sources/otlp/generated/',
      'src/api/prometheus/generated/',
      'src/entry/dashboard/generated/schema.d.ts',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.{ts,cts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // The plain way to leave a member out of an object.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      // DTO classes are there for the document; what the engine gives is of their shape, not made by them.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      // supertest's `body` and parsed JSON are `any`: the assertions on them are the check.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // Most functions here are handlers of one call, whose value nobody takes.
    files: ['src/entry/dashboard/**/*.{ts,tsx}'],
    rules: { '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }] },
  },
  {
    // What reads an app's data takes a checked AppScope with every query; the store as a whole does not ask
    // for one.
    files: ['src/api/{app-metrics,endpoints,consumers,request-logs,traces,traffic}/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex:
                '/store/(?!client/(?:clickhouse\\.errors|json-lines|query-parameters)\\.js$)|^@clickhouse/|^chdb',
              message:
                'Query through AppScopedStore: no statement on the data of an app runs without its scope.',
            },
          ],
        },
      ],
    },
  },
  rooms,
  { files: ['**/*.{js,mjs}'], languageOptions: { globals: { process: 'readonly', console: 'readonly' } } },
  prettier,
  {
    // Prettier does not wrap comments. Behind its configuration, which turns the rule off.
    plugins: { '@stylistic': stylistic },
    rules: { '@stylistic/max-len': ['error', { code: 10_000, comments: 110, ignoreUrls: true }] },
  },
);
