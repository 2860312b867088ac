import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { findSourceFiles } from './source-files.js';

const line = (day: number) => `203.0.113.7 - - [${day}/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 512\n`;
const FILES = {
  'access.log': line(19),
  'access.log.1': `damaged\n${line(18)}`,
  'access.log.2.gz': gzipSync(line(17)),
  'access.log.10.gz': gzipSync(line(17)),
  'error.log': '2015/05/19 10:05:03 [error] 1#1: no such file\n',
  'empty.log': '',
  '.hidden.log': line(16),
  'broken.zip': Buffer.from('504b0304', 'hex'),
};

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'logs-'));
  for (const [name, content] of Object.entries(FILES)) await writeFile(join(directory, name), content);
  await mkdir(join(directory, 'old'));
  await writeFile(join(directory, 'old', 'access.log'), line(15));
  await symlink('nowhere', join(directory, 'link.log'));
  await mkdir(join(directory, 'old', 'none'));
});
afterAll(() => rm(directory, { recursive: true }));

/** The names of what is found, and those that are left out in brackets. */
async function find(...names: string[]) {
  const files = await findSourceFiles(names.map((name) => join(directory, name)));
  return files.map(({ path, isForeign, error }) => {
    const name = relative(directory, path);
    return error?.message ?? (isForeign ? `(${name})` : name);
  });
}

describe('findSourceFiles', () => {
  it('returns the files of a directory in the order of their first requests, then by name', async () => {
    expect(await find('')).toEqual([
      'access.log.2.gz',
      'access.log.10.gz',
      'access.log.1',
      'access.log',
      'broken.zip',
      'empty.log',
      '(error.log)',
    ]);
  });

  it('returns each file once, and those that are named also without a request', async () => {
    expect(
      await find('error.log', 'access.log', 'old', 'old/access.log', '.hidden.log', 'access.log'),
    ).toEqual(['old/access.log', '.hidden.log', 'access.log', 'error.log']);
  });

  it('says what cannot be read', async () => {
    expect(await find('missing.log', 'access.log', 'old/none')).toEqual([
      'access.log',
      `Cannot read ${join(directory, 'missing.log')}: there is no such file`,
      `Cannot read ${join(directory, 'old/none')}: there is no file in the directory`,
    ]);
  });
});
