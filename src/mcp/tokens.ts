/**
 * Splits a text into runs of words, digits, white space, punctuation and other characters, as tokenizers do.
 * A blank before a word or punctuation belongs to it.
 */
const RUNS =
  /([A-Z]?[a-z]+|[A-Z]+)|(\d+)|( (?=[A-Za-z!-/:-@[-`{-~]))|( +|\t+|\r+)|(\n+)|([!-/:-@[-`{-~]+)|([^\t\n\r -~]+)/g;
const VOWEL = /[aeiouy]/i;
const FOUR_CONSONANTS = /[^aeiouy]{4}/i;

/** Characters for each token. */
const LETTERS_OF_A_WORD = 4;
const RANDOM_LETTERS = 1.2;
const DIGITS = 3;
const BLANKS = 16;
const LINES = 8;
const PUNCTUATION = 1.4;
/** A UTF-16 unit has at most three bytes of UTF-8, and no tokenizer makes more tokens than bytes. */
const OTHER_UNITS = 1 / 3;

/** No text has fewer tokens than one token for this many characters. */
export const MOST_CHARACTERS = BLANKS;

/**
 * An upper estimate of the tokens of a text. Tokenizers differ by model and are large, so none is shipped; a
 * test compares the estimate with two of them. Ordinary results have about four fifths of it.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const run of text.matchAll(RUNS)) tokens += countRun(run);
  return tokens;
}

/** The beginning of a text with at most `tokens` tokens, without half a character at its end. */
export function cutToTokens(text: string, tokens: number): string {
  let remaining = tokens;
  for (const run of text.matchAll(RUNS)) {
    const count = countRun(run);
    if (count > remaining) {
      const kept = text.slice(0, run.index + Math.floor(remaining * charactersFor(run)));
      // Removes a blank at the end, which belongs to no word now, and half of a pair of surrogates.
      return kept.replace(/(?:[\uD800-\uDBFF]| )$/, '');
    }
    remaining -= count;
  }
  return text;
}

function countRun(run: RegExpExecArray): number {
  const [text, word, , blank, , , , other] = run;
  if (blank !== undefined) return 0;
  if (other !== undefined) return Buffer.byteLength(other);
  const isWord = word !== undefined && VOWEL.test(word) && !FOUR_CONSONANTS.test(word);
  return Math.ceil(text.length / (isWord ? LETTERS_OF_A_WORD : charactersFor(run)));
}

/** Number of characters of a run that always fit into one token. */
function charactersFor([, word, digits, , blanks, lines, punctuation]: RegExpExecArray): number {
  if (word !== undefined) return RANDOM_LETTERS;
  if (digits !== undefined) return DIGITS;
  if (blanks !== undefined) return BLANKS;
  if (lines !== undefined) return LINES;
  return punctuation !== undefined ? PUNCTUATION : OTHER_UNITS;
}
