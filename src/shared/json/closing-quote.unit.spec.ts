import fc from 'fast-check';
import { findClosingQuote } from './closing-quote.js';

/** The same, character by character. */
function walkToClosingQuote(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return Math.min(end, text.length);
}

it('the closing quote is that of a walk over the characters', () => {
  const piece = fc.constantFrom(
    '\\',
    '\\"',
    '\\\\',
    'a',
    ' ',
    'x'.repeat(30),
    'x'.repeat(31),
    'x'.repeat(32),
    '☃',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.boolean(), (pieces, isClosed) => {
      const text = `{"${pieces.join('')}${isClosed ? '":1}' : ''}`;
      expect(findClosingQuote(text, 1)).toBe(walkToClosingQuote(text, 1));
    }),
    { numRuns: 2_000 },
  );
});
