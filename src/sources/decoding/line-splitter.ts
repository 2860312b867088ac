/** One line of a source; never a blank line. */
export interface SourceLine {
  /** Its line number in the source from 1, counting blank lines. */
  readonly number: number;
  /** Without its line end; null when the line is longer than the limit, or is to be decoded elsewhere. */
  readonly text: string | null;
  /** The raw bytes without the line feed; absent when the line is longer than the limit. */
  readonly bytes?: Buffer;
}

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Splits bytes into lines at `\n` or `\r\n`. Blank lines are left out. A line beyond the limit is dropped
 * while it is read, so that memory stays bounded, and reported by its number. Invalid UTF-8 becomes U+FFFD.
 */
export class LineSplitter {
  private number = 0;
  /** The beginning of an incomplete line. */
  private pieces: Buffer[] = [];
  private length = 0;

  /**
   * @param maxLines including blank lines; further lines are ignored
   * @param onTooLong called with the bytes of each line beyond the limit, in pieces, without its line feed
   * @param maxTextBytes a longer line has no text: see `decodeLine`
   */
  constructor(
    private readonly maxLineBytes: number,
    private readonly maxLines = Infinity,
    private readonly onTooLong: (piece: Buffer) => void = () => undefined,
    private readonly maxTextBytes = Infinity,
  ) {}

  /** Whether there are more lines than the limit. */
  get isExceeded(): boolean {
    return this.number > this.maxLines;
  }

  /** The lines that end in these bytes. */
  *push(bytes: Buffer): Generator<SourceLine> {
    let start = this.length === 0 ? this.skipLineFeeds(bytes, 0) : 0;
    for (let end = bytes.indexOf(NEWLINE, start); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      if (this.isExceeded) return;
      this.keep(bytes.subarray(start, end));
      yield* this.takeLine();
      start = this.skipLineFeeds(bytes, end + 1);
    }
    if (!this.isExceeded) this.keep(bytes.subarray(start));
  }

  /** The last line, if it has no line end. */
  *end(): Generator<SourceLine> {
    if (this.length > 0 && !this.isExceeded) yield* this.takeLine();
  }

  /** Skips empty lines from here on, and returns the offset after them: a file can have millions. */
  private skipLineFeeds(bytes: Buffer, start: number): number {
    let at = start;
    while (bytes[at] === NEWLINE && !this.isExceeded) {
      this.number++;
      at++;
    }
    return at;
  }

  private keep(piece: Buffer) {
    this.length += piece.length;
    if (piece.length > 0) this.pieces.push(piece);
    if (this.length > this.maxLineBytes) this.pieces.splice(0).forEach(this.onTooLong);
  }

  private *takeLine(): Generator<SourceLine> {
    this.number++;
    if (this.isExceeded) return;
    const bytes = this.length > this.maxLineBytes ? undefined : this.bytes();
    this.pieces = [];
    this.length = 0;
    const text = bytes && bytes.length <= this.maxTextBytes ? decodeLine(bytes, this.number) : null;
    if (text?.trim() !== '') yield { number: this.number, text, ...(bytes && { bytes }) };
  }

  private bytes(): Buffer {
    const [first] = this.pieces;
    return first?.length === this.length ? first : Buffer.concat(this.pieces);
  }
}

/** The text of a line. */
export function decodeLine(bytes: Buffer, number: number): string {
  const text = bytes.toString();
  const start = number === 1 && text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  return text.slice(start, text.endsWith('\r') ? -1 : undefined);
}
