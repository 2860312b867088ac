/** The bytes of a source, from which a decoder takes as many as it needs. */
export class ByteQueue {
  private bytes: Buffer = Buffer.alloc(0);
  private readonly chunks: AsyncIterator<Buffer> | Iterator<Buffer>;
  private isEnded = false;

  constructor(chunks: AsyncIterable<Buffer> | Iterable<Buffer>) {
    this.chunks = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  }

  /** The next bytes, at least `count` of them unless the source ends before; they stay in the queue. */
  async peek(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [this.bytes];
    let length = this.bytes.length;
    while (length < count && !this.isEnded) {
      const next = await this.chunks.next();
      this.isEnded = next.done === true;
      if (next.done === true) break;
      pieces.push(next.value);
      length += next.value.length;
    }
    if (pieces.length > 1) this.bytes = Buffer.concat(pieces);
    return this.bytes;
  }

  /** Removes bytes that were peeked. */
  skip(count: number): void {
    this.bytes = this.bytes.subarray(count);
  }

  /** Removes the next bytes and returns them; undefined if the source ends before. */
  async take(count: number): Promise<Buffer | undefined> {
    const bytes = await this.peek(count);
    if (bytes.length < count) return undefined;
    this.skip(count);
    return bytes.subarray(0, count);
  }
}
