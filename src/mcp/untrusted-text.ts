import { MOST_CHARACTERS, cutToTokens } from './tokens.js';

/**
 * Control characters, direction marks, and characters that are not shown but that a model reads: zero-width
 * and tag characters, variation selectors. The line feed and the tab are not among them.
 */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;

/** A text of a monitored application with its invisible characters written as escapes. */
export function showInvisible(text: string): string {
  return text
    .toWellFormed()
    .replace(INVISIBLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The text for one cell of a table: it ends neither the cell nor the line. */
export function toCell(text: string): string {
  return showInvisible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('|', '\\|');
}

const NAME_TOKENS = 30;

/** A name in a message, in quotes and at most a line long. */
export function quoteName(name: string): string {
  return JSON.stringify(cutText(name, NAME_TOKENS));
}

/** The text cut to at most `tokens` tokens, in visible characters. */
export function cutText(text: string, tokens: number): string {
  // Escapes only lengthen the text, so the rest of a long text need not be read.
  const head = showInvisible(text.slice(0, tokens * MOST_CHARACTERS + 1));
  const kept = cutToTokens(head, tokens);
  return kept === head && text.length <= tokens * MOST_CHARACTERS ? head : `${kept}…`;
}
