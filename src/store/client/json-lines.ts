const LINE_FEED = 0x0a;
const COMMA = 0x2c;

/**
 * Rows as the engine writes them: one JSON object per line. JSON text contains no line feed.
 * They stay bytes from the engine to the socket.
 */
export class JsonLines {
  /** Offset of each row's line feed. */
  private readonly ends: number[] = [];

  constructor(private readonly bytes: Buffer) {
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, end + 1))
      this.ends.push(end);
  }

  /** Concatenates the rows of several results. */
  static join(results: readonly JsonLines[]): JsonLines {
    const [only] = results;
    if (only && results.length === 1) return only;
    return new JsonLines(Buffer.concat(results.map(({ bytes }) => bytes)));
  }

  get length(): number {
    return this.ends.length;
  }

  /** The text of a row; empty if it does not exist. */
  at(index: number): string {
    return this.bytes.toString('utf8', (this.ends[index - 1] ?? -1) + 1, this.ends[index] ?? 0);
  }

  /** Drops each row that begins with the same bytes as the previous one. */
  withoutRepeats(prefixLength: number): JsonLines {
    const starts = this.ends.map((_, index) => (this.ends[index - 1] ?? -1) + 1);
    const isRepeat = starts.map((start, index) => {
      const before = starts[index - 1];
      return (
        before !== undefined &&
        this.bytes.compare(this.bytes, before, before + prefixLength, start, start + prefixLength) === 0
      );
    });
    if (!isRepeat.includes(true)) return this;
    const kept = starts.flatMap((start, index) =>
      isRepeat[index] ? [] : [this.bytes.subarray(start, (this.ends[index] ?? start) + 1)],
    );
    return new JsonLines(Buffer.concat(kept));
  }

  /**
   * The first rows as the elements of a JSON array, separated by commas. Returns a view of the same bytes.
   */
  joinFirst(count: number): Buffer {
    const last = Math.min(count, this.length) - 1;
    for (const end of this.ends.slice(0, Math.max(last, 0))) this.bytes[end] = COMMA;
    return this.bytes.subarray(0, this.ends[last] ?? 0);
  }
}
