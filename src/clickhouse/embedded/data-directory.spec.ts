import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../config/config.js';
import { prepareDataDirectory } from './data-directory.js';

describe('prepareDataDirectory', () => {
  const place = mkdtempSync(join(tmpdir(), 'data-directory-'));
  const readMode = (path: string) => (statSync(path).mode & 0o777).toString(8);

  afterAll(() => {
    rmSync(place, { recursive: true });
  });

  it('makes a missing directory for its owner alone, with the directories above it', () => {
    const path = join(place, 'a', 'b', 'data');
    prepareDataDirectory(path);
    expect([readMode(path), readdirSync(path)]).toEqual(['700', []]);
  });

  it.each([0o700, 0o750, 0o755])('leaves a directory of mode %d as it is', (mode) => {
    const path = join(place, String(mode));
    mkdirSync(path);
    chmodSync(path, mode);
    writeFileSync(join(path, 'kept'), '');
    prepareDataDirectory(path);
    expect([statSync(path).mode & 0o777, readdirSync(path)]).toEqual([mode, ['kept']]);
  });

  it('takes a link to a directory', () => {
    const link = join(place, 'link');
    symlinkSync(place, link);
    expect(() => {
      prepareDataDirectory(link);
    }).not.toThrow();
  });

  it('rejects a link to nothing, a name that is too long, and a place where no file can be made', () => {
    const dangling = join(place, 'dangling');
    symlinkSync(join(place, 'nothing'), dangling);
    for (const [path, code] of [
      [dangling, 'ENOENT'],
      [join(place, 'x'.repeat(300)), 'ENAMETOOLONG'],
      ['/proc/data', 'ENOENT'],
      ['/proc', 'ENOENT'],
    ] as const)
      expect(() => {
        prepareDataDirectory(path);
      }).toThrow(new ConfigError(`Invalid configuration. DATA_DIR: ${path} cannot be used (${code})`));
  });
});
