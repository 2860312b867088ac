import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findProgram, sumFileBytes } from './keeper.js';

const directory = mkdtempSync(join(tmpdir(), 'bench-keeper-'));
const environment = { ...process.env };
afterEach(() => {
  process.env = { ...environment };
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

function write(name: string, mode: number): string {
  const file = join(directory, name);
  writeFileSync(file, '12345');
  chmodSync(file, mode);
  return file;
}

describe('findProgram', () => {
  it('takes the program that the variable names before that on the PATH', () => {
    const onPath = write('keeper', 0o755);
    process.env.PATH = ['/nowhere', directory].join(delimiter);
    expect(findProgram('BENCH_KEEPER', 'keeper')).toBe(onPath);
    process.env.BENCH_KEEPER = write('other', 0o755);
    expect(findProgram('BENCH_KEEPER', 'keeper')).toBe(process.env.BENCH_KEEPER);
  });

  it('finds nothing where no program is installed', () => {
    mkdirSync(join(directory, 'folder'));
    process.env.PATH = directory;
    expect(findProgram('BENCH_KEEPER', 'absent')).toBeUndefined();
    expect(findProgram('BENCH_KEEPER', 'folder')).toBeUndefined();
  });
});

it('sums the bytes of the files of a directory and those below', () => {
  const root = join(directory, 'data');
  mkdirSync(join(root, 'below'), { recursive: true });
  for (const name of ['a', 'below/b']) writeFileSync(join(root, name), 'x'.repeat(100));
  expect(sumFileBytes(root)).toBe(200);
});
