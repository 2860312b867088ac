import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { Random } from '../shared/random.js';
import { cutToTokens, estimateTokens } from './tokens.js';

const random = new Random(7);
const countTokens = (text: string) => Math.max(countO200k(text), countCl100k(text));
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index));
const make = (length: number, alphabet: readonly string[]) =>
  Array.from({ length }, () => alphabet[random.integer(0, alphabet.length - 1)]).join('');
const LETTERS = [...range(65, 90), ...range(97, 122)];

describe('estimateTokens', () => {
  it.each<[string, readonly string[]]>([
    ['lower-case letters', range(97, 122)],
    ['letters', LETTERS],
    ['base64', [...LETTERS, ...range(48, 57), '+', '/']],
    ['hex digits', [...range(48, 57), ...range(97, 102)]],
    ['digits', range(48, 57)],
    ['punctuation', [...range(33, 47), ...range(58, 64), ...range(91, 96), ...range(123, 126)]],
    ['ASCII', range(32, 126)],
    ['white space', [' ', '\n', '\t', '\r']],
    ['Cyrillic', range(0x430, 0x44f)],
    ['Chinese', range(0x4e00, 0x4eff)],
    ['Yi', range(0xa000, 0xa0ff)],
    ['private characters', range(0xe000, 0xe0ff)],
    ['emoji', range(0x1f600, 0x1f64f)],
    ['JSON', ['{"', '":', ',"', '"},', '[[', '],[', 'a', '1', '\\n', '\\"']],
  ])('is at least the number of tokens of %s at random', (_, alphabet) => {
    for (let round = 0; round < 20; round++) {
      const text = make(600, alphabet);
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(countTokens(text) * 0.99);
    }
  });

  it('is at most twice the number of tokens of an ordinary text and table', () => {
    for (const text of [
      'The window is what was really read, and what was left out is said together with how to get it.',
      '["2026-11-20T14:00Z","/v1/users/{user_id}/orders",12034,0.0123,411],["2026-11-20T15:00Z","/v1/checkout",934,0.2123,1411]',
    ])
      expect(estimateTokens(text)).toBeLessThanOrEqual(countTokens(text) * 2);
  });

  it('takes a time that grows with the length alone', () => {
    for (const character of ['a', 'A', '1', ' ', '\n', '-', 'é', 'aé', 'aA1- ', `${'a'.repeat(1_000)}bbbb`])
      expect(estimateTokens(character.repeat(100_000 / character.length))).toBeGreaterThan(0);
  });
});

describe('cutToTokens', () => {
  it('keeps a text that fits, and else a beginning of it that fits', () => {
    for (let round = 0; round < 200; round++) {
      const text = make(random.integer(0, 300), [...range(32, 126), '😀', '漢']);
      const tokens = random.integer(0, 100);
      const cut = cutToTokens(text, tokens);
      expect(text.startsWith(cut)).toBe(true);
      expect(cut.isWellFormed()).toBe(true);
      expect(estimateTokens(cut)).toBeLessThanOrEqual(tokens);
      if (estimateTokens(text) <= tokens) expect(cut).toBe(text);
    }
  });
});
