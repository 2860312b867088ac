/**
 * Words, digits, white space, punctuation and everything else in runs, as tokenizers split text. A blank before a word or
 * punctuation is part of it.
 */
const RUNS =
  /([A-Z]?[a-z]+|[A-Z]+)|(\d+)|( (?=[A-Za-z!-/:-@[-`{-~]))|([ \t]+)|([\r\n]+)|([!-/:-@[-`{-~]+)|([^\t\n\r -~]+)/g;
/** Like a word of a language, and not like letters at random: vowels, and no more than three consonants in a row. */
const WORD = /^(?:[^aeiouy]{0,3}[aeiouy]+)+[^aeiouy]{0,3}$/i;

const LETTERS_OF_A_WORD = 4;
const RANDOM_LETTERS = 1.3;
const DIGITS = 3;
const PUNCTUATION = 1.4;
const BLANKS = 16;
const LINES = 8;

/**
 * An upper estimate of the tokens of a text. Tokenizers differ by model and are large, so none is shipped; a test compares
 * the estimate with two of them. Ordinary results have about four fifths of it. Characters outside ASCII count as
 * one token for each byte, which none exceeds.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [run, word, digits, blank, blanks, lines, punctuation] of text.matchAll(RUNS)) {
    if (word !== undefined)
      tokens += Math.ceil(run.length / (WORD.test(run) ? LETTERS_OF_A_WORD : RANDOM_LETTERS));
    else if (digits !== undefined) tokens += Math.ceil(run.length / DIGITS);
    else if (blank !== undefined) continue;
    else if (blanks !== undefined) tokens += Math.ceil(run.length / BLANKS);
    else if (lines !== undefined) tokens += Math.ceil(run.length / LINES);
    else if (punctuation !== undefined) tokens += Math.ceil(run.length / PUNCTUATION);
    else tokens += Buffer.byteLength(run);
  }
  return tokens;
}

/** The beginning of a text that has at most so many tokens, without half a character at its end. */
export function cutToTokens(text: string, tokens: number): string {
  if (text.length * 4 <= tokens || estimateTokens(text) <= tokens) return text;
  let [fits, exceeds] = [0, Math.min(text.length, tokens * BLANKS)];
  while (exceeds - fits > 1) {
    const middle = (fits + exceeds) >> 1;
    if (estimateTokens(text.slice(0, middle)) <= tokens) fits = middle;
    else exceeds = middle;
  }
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(fits - 1));
  return text.slice(0, isHalf ? fits - 1 : fits);
}
