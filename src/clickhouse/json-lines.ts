const LINE_FEED = 0x0a;
const COMMA = 0x2c;

/**
 * Rows as the engine writes them: the JSON text of one object each, ended by a line feed, which no such text has inside.
 * They stay bytes from the engine to the socket.
 */
export class JsonLines {
  /** Where the line feed of each row is. */
  private readonly ends: number[] = [];

  constructor(private readonly bytes: Buffer) {
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, end + 1))
      this.ends.push(end);
  }

  /** All rows of several answers, one after the other. */
  static join(results: readonly JsonLines[]): JsonLines {
    const [only] = results;
    if (only && results.length === 1) return only;
    return new JsonLines(Buffer.concat(results.map(({ bytes }) => bytes)));
  }

  get length(): number {
    return this.ends.length;
  }

  /** The text of a row; empty when there are not so many. */
  at(index: number): string {
    return this.bytes.toString('utf8', (this.ends[index - 1] ?? -1) + 1, this.ends[index] ?? 0);
  }

  /** The rows without those that begin with the same bytes as the one before. */
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

  /** The first rows as the elements of a JSON array, separated by commas. What is given is a part of the lines' own bytes. */
  joinFirst(count: number): Buffer {
    const last = Math.min(count, this.length) - 1;
    for (const end of this.ends.slice(0, Math.max(last, 0))) this.bytes[end] = COMMA;
    return this.bytes.subarray(0, this.ends[last] ?? 0);
  }
}
