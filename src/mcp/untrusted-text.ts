/**
 * Controls, direction marks, and characters that are not shown but that a model reads: zero-width and tag characters,
 * variation selectors. The line feed and the tab are not among them.
 */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;

/** A text of a monitored application with its invisible characters written as escapes. */
export function showInvisible(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same as one cell of a table: it neither ends the cell nor the line. */
export function toCell(text: string): string {
  return showInvisible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('|', '\\|');
}

/** A name in a message, in quotes and not longer than a line. */
export function quoteName(name: string): string {
  const characters = Array.from(name);
  const shown = characters.length > MAX_NAME ? `${characters.slice(0, MAX_NAME).join('')}…` : name;
  return JSON.stringify(showInvisible(shown));
}

const MAX_NAME = 60;
