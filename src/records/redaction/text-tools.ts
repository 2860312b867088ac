/** Pieces per call of `join`: joining all pieces of a long text at once takes many times its memory. */
const PIECES_AT_ONCE = 4_096;

/** Joins many short pieces to a text without a string for each of them. */
export class TextJoiner {
  private readonly chunks: string[] = [];
  private pieces: string[] = [];

  add(piece: string): void {
    this.pieces.push(piece);
    if (this.pieces.length < PIECES_AT_ONCE) return;
    this.chunks.push(this.pieces.join(''));
    this.pieces = [];
  }

  join(): string {
    return [...this.chunks, ...this.pieces].join('');
  }
}

/** Visits each match of a global pattern, without an array or a copy of the pattern as `matchAll` makes. */
export function forEachMatch(text: string, pattern: RegExp, visit: (match: RegExpExecArray) => void): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) visit(match);
}

/**
 * The part of a text around an offset, up to these characters on both sides; it does not begin before `from`.
 */
export function findAround(
  text: string,
  at: number,
  from: number,
  ends: ReadonlySet<string>,
): { start: number; end: number } {
  let [start, end] = [at, at];
  while (start > from && !ends.has(text.charAt(start - 1))) start--;
  while (end < text.length && !ends.has(text.charAt(end))) end++;
  return { start, end };
}
