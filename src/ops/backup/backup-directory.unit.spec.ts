import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupDirectory } from './backup-directory.js';

const NOBODY = 65_534;

describe('BackupDirectory', () => {
  const place = mkdtempSync(join(tmpdir(), 'backups-'));
  const isRoot = process.geteuid?.() === 0;

  afterAll(() => {
    rmSync(place, { recursive: true });
  });

  it('is not called incomplete where it belongs to another account', () => {
    const path = join(place, 'backup');
    mkdirSync(path);
    writeFileSync(join(path, '.backup'), '<config></config>');
    chmodSync(path, 0o000);
    // Root reads everything.
    if (isRoot) process.seteuid?.(NOBODY);
    try {
      expect(() => new BackupDirectory(path)).toThrow(
        `The backup ${path} belongs to another account (EACCES)`,
      );
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(path, 0o700);
    }
    expect(new BackupDirectory(path).bytes).toBe(0);
    expect(() => new BackupDirectory(join(place, 'missing'))).toThrow('There is no backup');
    expect(() => new BackupDirectory(place)).toThrow('is not a whole backup');
  });
});
