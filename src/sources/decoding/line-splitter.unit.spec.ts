import fc from 'fast-check';
import { LineSplitter, decodeLine, type SourceLine } from './line-splitter.js';

const LIMIT = 64;

function splitBytes(chunks: readonly Buffer[], splitter: LineSplitter): SourceLine[] {
  return [...chunks.flatMap((chunk) => [...splitter.push(chunk)]), ...splitter.end()];
}
const split = (chunks: readonly Buffer[], limit = LIMIT): SourceLine[] =>
  splitBytes(chunks, new LineSplitter(limit)).map(({ number, text }) => ({ number, text }));
const splitLines = (...chunks: string[]) => split(chunks.map((chunk) => Buffer.from(chunk)));

/** The bytes in pieces of random length. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe('LineSplitter', () => {
  it.each([
    ['lines', ['a\nb\n'], ['a', 'b']],
    ['a last line without its end', ['a\nb'], ['a', 'b']],
    ['Windows line ends', ['a\r\nb\r\n'], ['a', 'b']],
    ['a line end in two chunks', ['a\r', '\nb'], ['a', 'b']],
    ['a line in many chunks', ['a', 'b', '', 'c\n'], ['abc']],
    ['a character in two chunks', ['a\u00fc'], ['aü']],
    ['a carriage return inside a line', ['a\rb\n'], ['a\rb']],
    ['a byte order mark at the start only', ['\uFEFFa\n\uFEFFb\n'], ['a', '\uFEFFb']],
    ['nothing', [''], []],
    ['blank lines', ['\n\r\n \t\n\n'], []],
  ])('splits %s', (_, chunks, texts) => {
    expect(splitLines(...chunks).map(({ text }) => text)).toEqual(texts);
  });

  it('numbers lines from 1 as an editor does, blank ones included', () => {
    expect(splitLines('\na\n\r\n', 'b\nc')).toEqual([
      { number: 2, text: 'a' },
      { number: 4, text: 'b' },
      { number: 5, text: 'c' },
    ]);
  });

  it('reports a line beyond the limit without its text, and goes on behind it', () => {
    const [fits, tooLong] = ['x'.repeat(LIMIT), 'x'.repeat(LIMIT + 1)];
    expect(splitLines(`${fits}\n${tooLong}\n`, 'x'.repeat(LIMIT), `xx\na\n${tooLong}`)).toEqual([
      { number: 1, text: fits },
      { number: 2, text: null },
      { number: 3, text: null },
      { number: 4, text: 'a' },
      { number: 5, text: null },
    ]);
  });

  it('keeps the bytes of every line that is not blank, also of one beyond the limit, in pieces', () => {
    const line = fc.oneof(
      fc.uint8Array({ maxLength: LIMIT + 20 }),
      fc.constantFrom('', ' ', 'a\r', '\uFEFFa', 'x'.repeat(LIMIT + 1)).map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (given, cuts) => {
        const lines = given.map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a)));
        const source = Buffer.concat(lines.flatMap((bytes) => [bytes, Buffer.from('\n')]));
        let tooLong = Buffer.alloc(0);
        const splitter = new LineSplitter(LIMIT, Infinity, (piece) => {
          tooLong = Buffer.concat([tooLong, piece]);
        });
        const found = splitBytes(pieces(source, cuts), splitter);
        expect(found.flatMap(({ bytes }) => bytes ?? [])).toEqual(
          found.flatMap(({ number, text }) => (text === null ? [] : [lines[number - 1]])),
        );
        expect(tooLong).toEqual(Buffer.concat(lines.filter(({ length }) => length > LIMIT)));
      }),
    );
  });

  it('leaves the text of a longer line to be decoded elsewhere', () => {
    const splitter = new LineSplitter(LIMIT, Infinity, undefined, 2);
    const lines = splitBytes([Buffer.from('\uFEFF\r\nab\nabc\r\n')], splitter);
    expect(lines.map(({ number, text }) => [number, text])).toEqual([
      [1, null],
      [2, 'ab'],
      [3, null],
    ]);
    expect(lines.map(({ number, bytes }) => decodeLine(bytes!, number))).toEqual(['', 'ab', 'abc']);
  });

  it('reads bytes that are not UTF-8 as U+FFFD', () => {
    const bytes = Buffer.from([0x61, 0xff, 0x62, 0x0a, 0xc3]);
    expect(split([bytes]).map(({ text }) => text)).toEqual(['a\uFFFDb', '\uFFFD']);
  });

  it('returns the same lines however the bytes are cut, those of a naive split', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ü', '💥', ' ', '\r', '\n', '\n') });
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (content, cuts) => {
        const expected = content
          .split('\n')
          .map((line, index) => ({ number: index + 1, text: line.replace(/\r$/, '') }))
          .filter((line) => line.text.trim() !== '');
        expect(split(pieces(Buffer.from(content), cuts), 10_000)).toEqual(expected);
      }),
    );
  });
});
