import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const CONFIGURATION = ['oxlint.config.js', 'oxlint.rooms.js', 'oxlint.comments.js'];

/** What lint says of each file of a directory that has these alone, with the project's own configuration. */
function lint(texts: Readonly<Record<string, string>>): Map<string, string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'rooms-'));
  try {
    for (const name of CONFIGURATION) copyFileSync(name, join(directory, name));
    for (const [file, text] of Object.entries(texts)) {
      mkdirSync(join(directory, dirname(file)), { recursive: true });
      writeFileSync(join(directory, file), text);
    }
    symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
    const args = ['node_modules/oxlint/bin/oxlint', '-c', 'oxlint.config.js', '--format', 'json', 'src'];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8' });
    if (!stdout.startsWith('{')) throw new Error(stdout + stderr);
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; code: string }[] };
    const inFile = (file: string) => diagnostics.filter(({ filename }) => filename === file);
    return new Map(Object.keys(texts).map((file) => [file, inFile(file).map(({ code }) => code)]));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The order, which Jest cannot load itself. */
function readRooms(): string[][] {
  const script = `import('./oxlint.rooms.js').then(({ ROOMS }) => process.stdout.write(JSON.stringify(ROOMS)))`;
  const { stdout } = spawnSync(process.execPath, ['--eval', script], { encoding: 'utf8' });
  return JSON.parse(stdout) as string[][];
}

describe('the rooms', () => {
  const REJECTED = {
    'a type of a higher room': ['src/shared/clamp.ts', `export type { Config } from '../config/config.js';`],
    'a value of a higher room': [
      'src/store/client/deadline.ts',
      `import { ApiError } from '../../platform/http/api-error.js';\nexport { ApiError };`,
    ],
    'a dynamic import of a higher room': [
      'src/config/config.ts',
      `export const load = () => import('../telemetry/tracing.js');`,
    ],
    'a type imported in its place': [
      'src/config/place.ts',
      `export type Tracing = import('../telemetry/tracing.js').Tracing;`,
    ],
    'an export of a higher room': [
      'src/write/write-gate.ts',
      `export * from '../sources/intake/message-intake.js';`,
    ],
    'the application in a room': ['src/api/apps/apps.module.ts', `export * from '../../app.module.js';`],
    'a higher room in a test': ['src/shared/time/window.unit.spec.ts', `import '../../config/config.js';`],
    'the tests in a source': ['src/entry/cli/app.ts', `import '../../../test/setup/eventually.js';`],
    'the product in the dashboard': ['src/entry/dashboard/api.ts', `import '../../shared/clamp.js';`],
    'the dashboard in the product': ['src/entry/cli/demo.ts', `import '../dashboard/time.js';`],
  } as const;
  const ACCEPTED = {
    'a lower room': ['src/config/defaults.ts', `import '../shared/clamp.js';`],
    'the same room': ['src/shared/time/window.ts', `import '../clamp.js';`],
  } as const;
  /** Two files; each has a type of the other. */
  const CIRCLE = {
    'src/records/one.ts': `import type { Two } from './two.js';\nexport type One = Two | 1;`,
    'src/records/two.ts': `import type { One } from './one.js';\nexport type Two = One[] | 2;`,
  };
  let found: Map<string, string[]>;
  beforeAll(() => {
    found = lint({ ...Object.fromEntries(Object.values({ ...REJECTED, ...ACCEPTED })), ...CIRCLE });
  });

  it.each(Object.entries(REJECTED))('lint rejects %s', (_name, [file]) => {
    expect(found.get(file)).toEqual(['rooms(order)']);
  });

  it.each(Object.entries(ACCEPTED))('lint accepts %s', (_name, [file]) => {
    expect(found.get(file)).toEqual([]);
  });

  it.each(Object.keys(CIRCLE))(
    'lint rejects files that import each other in a circle, types included: %s',
    (file) => {
      expect(found.get(file)).toEqual(['import(no-cycle)']);
    },
  );

  const rooms = readRooms();

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
});
