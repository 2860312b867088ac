const BACKSLASH = '\\'.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
/** Escaped quotes often follow each other: in these many characters, `indexOf` is slower than a loop. */
const NEAR = 32;

/**
 * The offset of the closing quote for the quote at `at`, skipping escaped quotes; the end of the text if
 * there is none.
 */
export function findClosingQuote(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    const near = quote + NEAR;
    for (quote++; quote < near && text.charCodeAt(quote) !== QUOTE; quote++);
    if (quote === near) quote = text.indexOf('"', near);
  }
  return text.length;
}
