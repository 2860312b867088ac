import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join, normalize } from 'node:path';
import ts from 'typescript';

/**
 * Lints texts as if they were the files, with the project's own configuration. Jest cannot load the
 * configuration itself.
 */
const LINT = `
import { readFileSync } from 'node:fs';
import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
const eslint = new ESLint({
  // The rules about types take most of the time.
  overrideConfig: [tseslint.configs.disableTypeChecked],
  ruleFilter: ({ ruleId }) => ruleId.startsWith('import-x/'),
});
const found = [];
for (const [filePath, text] of JSON.parse(readFileSync(0, 'utf8'))) {
  const [{ messages }] = await eslint.lintText(text, { filePath });
  found.push(messages.map(({ message }) => message));
}
process.stdout.write(JSON.stringify(found));
`;
const LIST_ROOMS = `
import { ROOMS } from './eslint.rooms.js';
process.stdout.write(JSON.stringify(ROOMS));
`;

function runModule(script: string, input = ''): unknown {
  const options = { input, encoding: 'utf8' } as const;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], options);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const SOURCES = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .map((name) => join('src', name))
  .filter((file) => /\.(?:ts|cts|tsx)$/.test(file));

/** The files that a source imports, types as well. */
function listImports(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'));
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => normalize(join(file, '..', fileName)).replace(/\.c?js$/, ''))
    .flatMap((path) => SOURCES.filter((source) => source.replace(/(?:\.d)?\.(?:ts|cts|tsx)$/, '') === path));
}

/** A circle of files that import each other; undefined if there is none. */
function findCircle(imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const follow = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const imported of imports.get(file) ?? []) {
      const circle = follow(imported, [...path, file]);
      if (circle) return circle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const circle = follow(file, []);
    if (circle) return circle;
  }
  return undefined;
}

describe('the rooms', () => {
  const IMPORTS = {
    'a type of a higher room': ['src/shared/clamp.ts', `import type { Config } from '../config/config.js';`],
    'a value of a higher room': [
      'src/store/client/deadline.ts',
      `import { ApiError } from '../../platform/http/api-error.js';`,
    ],
    'a dynamic import of a higher room': [
      'src/config/config.ts',
      `export const load = () => import('../telemetry/tracing.js');`,
    ],
    'an export of a higher room': [
      'src/write/write-gate.ts',
      `export * from '../sources/intake/message-intake.js';`,
    ],
    'the application in a room': [
      'src/api/apps/apps.module.ts',
      `import { AppModule } from '../../app.module.js';`,
    ],
    'a higher room in a test': ['src/shared/time/window.unit.spec.ts', `import '../../config/config.js';`],
    'the tests in a source': ['src/entry/cli/app.ts', `import '../../../test/setup/eventually.js';`],
    'the product in the dashboard': ['src/entry/dashboard/api.ts', `import '../../shared/clamp.js';`],
    'the dashboard in the product': ['src/entry/cli/app.ts', `import '../dashboard/time.js';`],
  } as const;
  const ALLOWED = {
    'a lower room': ['src/config/config.ts', `import { clamp } from '../shared/clamp.js';`],
    'the same room': ['src/shared/time/window.ts', `import { clamp } from '../clamp.js';`],
  } as const;
  let messages: Map<string, string[]>;
  beforeAll(() => {
    const texts = Object.entries({ ...IMPORTS, ...ALLOWED });
    const found = runModule(LINT, JSON.stringify(texts.map(([, text]) => text))) as string[][];
    messages = new Map(texts.map(([name], index) => [name, found[index]!]));
  });

  it.each(Object.keys(IMPORTS))('lint rejects %s', (name) => {
    expect(messages.get(name)).toEqual([expect.stringContaining('imported in restricted zone')]);
  });

  it.each(Object.keys(ALLOWED))('lint accepts %s', (name) => {
    expect(messages.get(name)).toEqual([]);
  });

  const rooms = runModule(LIST_ROOMS) as string[][];

  it('are all that lies in src, each with its place in the order', () => {
    expect(
      readdirSync('src')
        .map((name) => `src/${name}`)
        .sort(),
    ).toEqual(rooms.flat().sort());
  });

  it('are described in their order, from the top down', () => {
    const described = readFileSync('docs/architecture.md', 'utf8').matchAll(/^\*\*`(src\/[^`]+)`/gm);
    const names = Array.from(described, ([, name = '']) => name.replace(/\/$/, ''));
    expect(names).toEqual(rooms.map(([first]) => first).toReversed());
  });

  it('have no files that import each other in a circle, types included', () => {
    const imports = new Map(SOURCES.map((file) => [file, listImports(file)]));
    expect([...imports.values()].flat().length).toBeGreaterThan(1_000);
    expect(findCircle(imports)).toBeUndefined();
    const [first = ''] = imports.get('src/main.cts') ?? [];
    expect(findCircle(new Map([...imports, [first, ['src/main.cts']]]))).toContain('src/main.cts');
  });
});
