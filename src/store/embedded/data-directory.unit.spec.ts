import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
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
import type { Readable } from 'node:stream';
import { ConfigError } from '../../config/config.js';
import { findLockOwner, prepareDataDirectory, requireAccess } from './data-directory.js';

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

describe('requireAccess', () => {
  it('rejects a file and what is below one, but takes what is not there yet', () => {
    const place = mkdtempSync(join(tmpdir(), 'data-directory-'));
    const file = join(place, 'file');
    writeFileSync(file, '', { mode: 0o600 });
    for (const [path, why] of [
      [file, 'is a file, not a directory'],
      [join(file, 'below'), 'cannot be used (ENOTDIR)'],
    ] as const)
      expect(() => {
        requireAccess(path);
      }).toThrow(new ConfigError(`Invalid configuration. DATA_DIR: ${path} ${why}`));
    expect(() => {
      requireAccess(join(place, 'a', 'b'));
    }).not.toThrow();
    rmSync(place, { recursive: true });
  });
});

describe('findLockOwner', () => {
  const place = mkdtempSync(join(tmpdir(), 'data-directory-'));
  const [directory, link] = [join(place, 'data'), join(place, 'link')];
  /** As the engine does. */
  const LOCK = `
    const file = fs.openSync(process.argv[1], 'wx');
    fs.writeSync(file, 'PID: ' + process.pid + '\\n');
    process.stdout.write('locked');
    setInterval(() => {}, 1_000);`;
  let holder: ChildProcessByStdio<null, Readable, null>;

  beforeAll(async () => {
    mkdirSync(directory);
    symlinkSync(directory, link);
    holder = spawn(process.execPath, ['-e', LOCK, join(directory, 'status')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
  });

  afterAll(() => {
    holder.kill('SIGKILL');
    rmSync(place, { recursive: true });
  });

  it('returns the process that has the directory open, also for a link to it', () => {
    expect([directory, link].map(findLockOwner)).toEqual([holder.pid, holder.pid]);
  });

  it('returns undefined when the process of the file does not have it open', () => {
    const stale = join(place, 'stale');
    mkdirSync(stale);
    writeFileSync(join(stale, 'status'), `PID: ${holder.pid}\n`);
    expect(findLockOwner(stale)).toBeUndefined();
  });
});
