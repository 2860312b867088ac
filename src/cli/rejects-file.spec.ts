import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureMemory } from '../../test/setup/memory.js';
import { RejectsFile } from './rejects-file.js';

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
});
