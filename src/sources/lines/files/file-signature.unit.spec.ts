import { randomBytes } from 'node:crypto';
import { deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { explainUnreadable } from './file-signature.js';
import { READS_ZSTD } from './zstd.js';

const LINE = '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /grüße HTTP/1.1" 200 512 "-" "curl/8"\r\n';
const TEXT = LINE.repeat(20);
const hex = (text: string) => Buffer.concat([Buffer.from(text, 'hex'), randomBytes(600)]);
const utf16 = Buffer.from(TEXT, 'utf16le');
const utf32 = Buffer.from(Array.from(TEXT, (character) => [character.codePointAt(0)!, 0, 0, 0]).flat());
const bigEndian = (bytes: Buffer, width: 2 | 4) =>
  width === 2 ? Buffer.from(bytes).swap16() : Buffer.from(bytes).swap32();
const tar = Buffer.concat([
  Buffer.from('access.log'.padEnd(257, '\0')),
  Buffer.from('ustar\x0000'),
  Buffer.alloc(300),
]);

const packed = (name: string, command: string) =>
  `it is compressed with ${name}; decompress it first: ${command} FILE | request-analytics import - …`;
const zstd = READS_ZSTD ? 'zstd, twice' : 'zstd, which Node.js reads from 22.15 on';

describe('explainUnreadable', () => {
  it.each([
    ['zstd', hex('28b52ffd'), packed(zstd, 'zstd -dc')],
    ['zstd behind a frame to skip', hex('512a4d1804000000'), packed(zstd, 'zstd -dc')],
    ['xz', hex('fd377a585a00'), packed('xz', 'xz -dc')],
    ['bzip2', hex('425a6839314159265359'), packed('bzip2', 'bzip2 -dc')],
    ['bzip2 of nothing', hex('425a6839177245385090'), packed('bzip2', 'bzip2 -dc')],
    ['lz4', hex('04224d18'), packed('lz4', 'lz4 -dc')],
    ['compress', hex('1f9d90'), packed('compress', 'uncompress -c')],
    ['lzip', hex('4c5a495001'), packed('lzip', 'lzip -dc')],
    ['gzip in gzip', gzipSync('a'), packed('gzip, twice', 'gunzip -c')],
    ['ZIP', hex('504b0304'), 'it is a ZIP archive; extract it first, with unzip, and import the files in it'],
    [
      '7z',
      hex('377abcaf271c'),
      'it is a 7z archive; extract it first, with 7z x, and import the files in it',
    ],
    [
      'RAR',
      hex('526172211a07'),
      'it is a RAR archive; extract it first, with unrar x, and import the files in it',
    ],
    ['tar', tar, 'it is a tar archive; extract it first, with tar -xf, and import the files in it'],
    [
      'UTF-16 with a mark',
      Buffer.from(`\uFEFF${TEXT}`, 'utf16le'),
      'it is text in UTF-16; convert it first, with iconv -f UTF-16 -t UTF-8',
    ],
    [
      'UTF-16, big-endian, with a mark',
      bigEndian(Buffer.from(`\uFEFF${TEXT}`, 'utf16le'), 2),
      'it is text in UTF-16; convert it first, with iconv -f UTF-16 -t UTF-8',
    ],
    [
      'UTF-32 with a mark',
      Buffer.concat([Buffer.from('fffe0000', 'hex'), utf32]),
      'it is text in UTF-32; convert it first, with iconv -f UTF-32 -t UTF-8',
    ],
    ['UTF-16', utf16, 'it is text in UTF-16LE; convert it first, with iconv -f UTF-16LE -t UTF-8'],
    [
      'UTF-16, big-endian',
      bigEndian(utf16, 2),
      'it is text in UTF-16BE; convert it first, with iconv -f UTF-16BE -t UTF-8',
    ],
    ['UTF-32', utf32, 'it is text in UTF-32LE; convert it first, with iconv -f UTF-32LE -t UTF-8'],
    [
      'UTF-32, big-endian',
      bigEndian(utf32, 4),
      'it is text in UTF-32BE; convert it first, with iconv -f UTF-32BE -t UTF-8',
    ],
    ['Parquet', hex('50415231'), 'it is Parquet; only NDJSON and access logs can be imported'],
    [
      'SQLite',
      hex('53514c69746520666f726d6174203300'),
      'it is an SQLite database; only NDJSON and access logs can be imported',
    ],
    [
      'an ELF program',
      Buffer.concat([Buffer.from('7f454c4602010100', 'hex'), Buffer.alloc(500)]),
      'it is binary data; only NDJSON and access logs can be imported',
    ],
    [
      'a deflate stream',
      deflateRawSync(randomBytes(4096)),
      'it is binary data; only NDJSON and access logs can be imported',
    ],
    [
      'a JSON array',
      Buffer.from('\uFEFF \n[ {"timestamp":"2015-05-17"}'),
      'it is a JSON array; write one object in each line, as jq -c ".[]" does',
    ],
  ])('names %s and the cure', (_, head, reason) => {
    expect(explainUnreadable(head)).toBe(reason);
  });

  it.each([
    ['nothing', ''],
    ['an access log', TEXT],
    ['a mark of UTF-8', `\uFEFF${TEXT}`],
    ['NDJSON', '{"timestamp":"2015-05-17","tags":[{}]}\n'],
    ['an open bracket alone', '[\n{"timestamp":"2015-05-17"}'],
    ['a time in brackets', '[17/May/2015] {'],
    ['tabs and colours', '\t\u001b[31mred\u001b[0m\f\n'.repeat(50)],
    ['a hole of NUL, left by a rotation', '\0'.repeat(10_000)],
    ['a line behind a hole of NUL', `${'\0'.repeat(1_000)}${TEXT}`],
    ['a control character in a line', `${TEXT}\u0016\u0003\u0001\0\n`],
    ['words', 'BZh9 is a word, BZip PK LZ Rar PAR'],
  ])('reads %s', (_, text) => {
    expect(explainUnreadable(Buffer.from(text))).toBeUndefined();
  });

  it('reads access logs in Latin-1', () => {
    expect(explainUnreadable(Buffer.from(TEXT, 'latin1'))).toBeUndefined();
  });

  it('knows random bytes to be none that can be read, and reads any printable text', () => {
    for (let round = 0; round < 200; round++) expect(explainUnreadable(randomBytes(4096))).toBeDefined();
    const printable = fc.string({
      unit: fc.constantFrom('a', 'ü', '💥', ' ', '\n', '"', '{', '0'),
      maxLength: 600,
    });
    fc.assert(
      fc.property(printable, (text) => {
        expect(explainUnreadable(Buffer.from(text))).toBeUndefined();
      }),
    );
  });
});
