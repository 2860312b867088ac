import fc from 'fast-check';
import { removePadding } from './nul-padding.js';

async function pad(...pieces: string[]): Promise<string> {
  const chunks: Buffer[] = [];
  // oxlint-disable-next-line typescript/require-await
  const source = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  for await (const chunk of removePadding(source)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const BLOCK = '\0'.repeat(4096);

describe('removePadding', () => {
  it.each([
    ['at the beginning', `${BLOCK}a\nb\n`, 'a\nb\n'],
    ['between lines', `a\n${BLOCK}b\n`, 'a\nb\n'],
    ['before the end of a line', `a${BLOCK}\nb\n`, 'a\nb\n'],
    ['before the end of a line of Windows', `a${BLOCK}\r\nb\r\n`, 'a\r\nb\r\n'],
    ['in the middle of a line', `a${BLOCK}b\n`, 'a\nb\n'],
    ['at the end', `a\n${BLOCK}`, 'a\n'],
    ['behind a line without its end', `a${BLOCK}`, 'a'],
    ['alone', BLOCK, ''],
  ])('removes a block %s', async (_, text, expected) => {
    expect(await pad(text)).toBe(expected);
  });

  it('keeps a few NUL bytes', async () => {
    expect(await pad('a\0b\0\0\0\nc\0')).toBe('a\0b\0\0\0\nc\0');
  });

  it('gives the same however the bytes are divided', async () => {
    const piece = fc.oneof(
      fc.constantFrom('\n', 'a', '\0', '\0'.repeat(5), BLOCK),
      fc.string({ maxLength: 3 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        expect(await pad(...pieces)).toBe(await pad(pieces.join('')));
      }),
    );
  });
});
