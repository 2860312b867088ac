import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureMemory } from '../setup/memory.js';
import { RejectsFile } from '../../src/entry/cli/rejects-file.js';

describe('RejectsFile', () => {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-rejects-'));

  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  it('keeps a short line without the chunk of the file that it was read in', () => {
    const path = join(directory, 'rejected');
    const rejects = new RejectsFile(path);
    const before = measureMemory().arrayBuffers;
    for (let number = 1; number <= 500; number++) {
      const chunk = Buffer.alloc(64 * 1024, 'x');
      rejects.add({ number, text: 'xxx', bytes: chunk.subarray(0, 3) });
    }
    // Those chunks together have 32 MB.
    expect(measureMemory().arrayBuffers - before).toBeLessThan(4_000_000);
    rejects.close();
    expect(readFileSync(path, 'utf8')).toBe('xxx\n'.repeat(500));
  });

  it('keeps what was in files of its name, under names that are free', () => {
    const path = join(directory, 'again');
    for (const [text, earlier] of [
      ['a', undefined],
      ['b', `${path}.1`],
      ['c', `${path}.2`],
    ] as const) {
      const rejects = new RejectsFile(path, [join(directory, 'source')]);
      rejects.add({ number: 1, text, bytes: Buffer.from(text) });
      rejects.close();
      expect(rejects.earlier).toBe(earlier);
    }
    expect([path, `${path}.1`, `${path}.2`].map((name) => readFileSync(name, 'utf8'))).toEqual([
      'c\n',
      'a\n',
      'b\n',
    ]);
  });

  it('renames no source, no directory and no link', () => {
    const source = join(directory, 'source');
    writeFileSync(source, 'a');
    mkdirSync(join(directory, 'directory'));
    symlinkSync(source, join(directory, 'link'));
    for (const name of ['source', 'directory', 'link'])
      expect(() => new RejectsFile(join(directory, name), [join(directory, '.', 'source')])).toThrow(
        'already: --rejects needs another one',
      );
    expect(readFileSync(source, 'utf8')).toBe('a');
  });
});
