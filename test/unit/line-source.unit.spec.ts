import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { hasProgram, pack } from '../setup/compress.js';
import { LineSource, LineSourceError } from '../../src/sources/lines/files/line-source.js';
import { READS_ZSTD } from '../../src/sources/lines/files/zstd.js';

const LINES = Array.from({ length: 5_000 }, (_, index) => `${index} ${randomBytes(24).toString('base64')}`);
const PLAIN = Buffer.from(`${LINES.join('\n')}\n`);
const GZIP = gzipSync(PLAIN);

const TAR = Buffer.concat([
  Buffer.from('access.log'.padEnd(257, '\0')),
  Buffer.from('ustar\x0000'),
  Buffer.alloc(248),
  PLAIN,
]);

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lines-'));
});
afterAll(async () => {
  await rm(directory, { recursive: true });
});

async function file(content: Buffer): Promise<string> {
  const name = join(directory, randomBytes(8).toString('hex'));
  await writeFile(name, content);
  return name;
}

/** All that a source gives, and the error that ended it. */
async function drain(source: LineSource) {
  const texts: (string | null)[] = [];
  let error: unknown;
  try {
    for await (const batch of source) {
      expect(batch.length).toBeGreaterThan(0);
      expect(batch.length).toBeLessThanOrEqual(1_000);
      texts.push(...batch.map(({ text }) => text));
    }
  } catch (caught) {
    error = caught;
  }
  return { texts, error };
}
const read = async (content: Buffer) => drain(await LineSource.open(await file(content)));

describe('LineSource', () => {
  it.each([
    ['a plain file', PLAIN],
    ['a gzip file', GZIP],
    [
      'a gzip file of two members',
      Buffer.concat([gzipSync(PLAIN.subarray(0, 1000)), gzipSync(PLAIN.subarray(1000))]),
    ],
    ...(READS_ZSTD && hasProgram('zstd') ? [['a zstd file', pack('zstd', PLAIN)] as [string, Buffer]] : []),
    ['a gzip file with padding', Buffer.concat([GZIP, Buffer.alloc(512)])],
  ])('gives all lines of %s, and counts the bytes as they lie on the disk', async (_, content) => {
    const source = await LineSource.open(await file(content));
    expect(source).toMatchObject({ bytesRead: 0, totalBytes: content.length });
    expect(await drain(source)).toEqual({ texts: LINES, error: undefined });
    expect(source.bytesRead).toBe(content.length);
  });

  it.each([
    ['gzip', GZIP, false],
    ['gzip with a signature behind it', Buffer.concat([GZIP, Buffer.from('signed\n')]), true],
    ['plain', PLAIN, false],
  ])('gives all lines of %s, and says whether other bytes follow', async (_, content, hasTrailingBytes) => {
    const source = await LineSource.open(await file(content));
    expect(await drain(source)).toEqual({ texts: LINES, error: undefined });
    expect(source.hasTrailingBytes).toBe(hasTrailingBytes);
  });

  it.each([
    ['plain', PLAIN],
    ['gzip', GZIP],
  ])('reads a %s stream byte by byte, its size unknown', async (_, content) => {
    const bytes = Array.from(content.subarray(0, 2_000), (byte) => Buffer.from([byte]));
    const source = LineSource.from(Readable.from([...bytes, content.subarray(2_000)]));
    expect(source.totalBytes).toBeNull();
    expect(await drain(source)).toEqual({ texts: LINES, error: undefined });
    expect(source.bytesRead).toBe(content.length);
  });

  it.each([
    ['nothing', Buffer.alloc(0), []],
    ['one byte', Buffer.from('\n'), []],
    ['gzip of nothing', gzipSync(''), []],
    ['gzip of a line without its end', gzipSync('a'), ['a']],
  ])('reads %s', async (_, content, texts) => {
    expect(await read(content)).toEqual({ texts, error: undefined });
  });

  it.each([
    ['leaves out', 'text', 'a\nb', ['a'], true],
    ['leaves out', 'a single line', 'b', [], true],
    ['gives', 'JSON', '{"a":1}\n {"b":2}', ['{"a":1}', ' {"b":2}'], false],
    ['leaves out', 'JSON that is cut', '{"a":1}\n{"b":', ['{"a":1}'], true],
    ['gives', 'text with its line end', 'a\nb\n', ['a', 'b'], false],
    ['has no', 'blanks', 'a\n  ', ['a'], false],
  ])('%s a last line of a plain file without its end: %s', async (_, __, content, texts, isLeftOut) => {
    const name = await file(Buffer.from(content));
    const source = await LineSource.open(name);
    expect([await drain(source), source.lastLineLeftOut !== null]).toEqual([
      { texts, error: undefined },
      isLeftOut,
    ]);
  });

  it('gives the last line without its end of a stream, and of a file that does not grow', async () => {
    const content = Buffer.from('a\nb');
    const whole = { texts: ['a', 'b'], error: undefined };
    expect(await drain(LineSource.from(Readable.from([content])))).toEqual(whole);
    expect(await drain(await LineSource.open(await file(content), { isFinished: true }))).toEqual(whole);
  });

  it('returns every complete line of gzip data that was cut off, and not the broken one; then says so', async () => {
    const { texts, error } = await read(GZIP.subarray(0, -5_000));
    expect(texts.length).toBeGreaterThan(4_000);
    expect(texts).toEqual(LINES.slice(0, texts.length));
    expect(error).toBeInstanceOf(LineSourceError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^Cannot read \S+ to its end: the gzip data is cut off$/),
    });
  });

  it('returns valid lines of gzip data before damage; then says so', async () => {
    const damaged = Buffer.from(GZIP);
    damaged.fill(0xff, GZIP.length - 20_000, GZIP.length - 19_900);
    const { texts, error } = await read(damaged);
    expect(texts.length).toBeGreaterThan(3_000);
    expect(texts.slice(0, 3_000)).toEqual(LINES.slice(0, 3_000));
    expect(error).toMatchObject({
      name: 'LineSourceError',
      message: expect.stringContaining('the gzip data is damaged'),
    });
  });

  it('says why a stream broke off, after its good lines', async () => {
    const broken = Readable.from(
      (async function* () {
        yield await Promise.resolve(Buffer.from('a\nb\nc'));
        throw new Error('connection lost');
      })(),
    );
    expect(await drain(LineSource.from(broken))).toEqual({
      texts: ['a', 'b'],
      error: new LineSourceError('Cannot read standard input to its end: connection lost'),
    });
  });

  it('skips a line beyond the limit, also in gzip', async () => {
    const bomb = gzipSync(
      Buffer.concat([Buffer.from('a\n'), Buffer.alloc(40_000_000, 'x'), Buffer.from('\nb\n')]),
    );
    expect(bomb.length).toBeLessThan(50_000);
    expect(await read(bomb)).toEqual({ texts: ['a', null, 'b'], error: undefined });
  });

  it.each([
    [
      'xz',
      Buffer.from('fd377a585a000004e6d6b446', 'hex'),
      'it is compressed with xz; decompress it first: xz -dc FILE | request-analytics import - …',
    ],
    [
      'bzip2',
      Buffer.from('425a68393141592653597d8e0fad', 'hex'),
      'it is compressed with bzip2; decompress it first: bzip2 -dc FILE | request-analytics import - …',
    ],
    [
      'UTF-16',
      Buffer.from('\uFEFFa\nb\n', 'utf16le'),
      'it is text in UTF-16; convert it first, with iconv -f UTF-16 -t UTF-8',
    ],
    ['a tar archive', TAR, 'it is a tar archive; extract it first, with tar -xf, and import the files in it'],
    [
      'a JSON array',
      Buffer.from('[{"a":1}]'),
      'it is a JSON array; write one object in each line, as jq -c ".[]" does',
    ],
  ])(
    'gives no line of %s, plain, in gzip, or byte by byte, and says what to do',
    async (_, content, reason) => {
      for (const bytes of [content, gzipSync(content)]) {
        const name = await file(bytes);
        expect(await drain(await LineSource.open(name))).toEqual({
          texts: [],
          error: new LineSourceError(`Cannot read ${name}: ${reason}`),
        });
      }
      const bytes = Readable.from(Array.from(content, (byte) => Buffer.from([byte])));
      expect(await drain(LineSource.from(bytes))).toEqual({
        texts: [],
        error: new LineSourceError(`Cannot read standard input: ${reason}`),
      });
    },
  );

  it('gives the few lines of gzip data that was cut off right behind them; then says so', async () => {
    const packed = gzipSync(Buffer.from('a\nb\nc'));
    const { texts, error } = await read(packed.subarray(0, -8));
    expect(texts).toEqual(['a', 'b']);
    expect(error).toMatchObject({ message: expect.stringMatching('to its end: the gzip data is cut off$') });
  });

  it.each([
    ['there is no such file', () => join(directory, 'missing')],
    ['it is a directory', () => directory],
  ])('opens nothing when %s', async (reason, name) => {
    const message = `Cannot read ${name()}: ${reason}`;
    await expect(LineSource.open(name())).rejects.toThrow(new LineSourceError(message));
  });

  it('closes the file when its reader stops early', async () => {
    const input = Readable.from([PLAIN]);
    for await (const batch of LineSource.from(input)) {
      expect(batch).toHaveLength(1_000);
      break;
    }
    expect(input.destroyed).toBe(true);
  });
});
