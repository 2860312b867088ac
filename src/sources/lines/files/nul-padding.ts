/** Fewer consecutive NUL bytes are data. */
const MIN_PADDING = 8;
const NUL = 0;
const [LINE_FEED, CARRIAGE_RETURN] = ['\n'.charCodeAt(0), '\r'.charCodeAt(0)];
const SEPARATOR = Buffer.from('\n');

/**
 * The bytes of a log without blocks of NUL. A rotation, a crash or a server with the file open leaves such
 * blocks. A block in the middle of a line ends that line: the text after it was written later.
 */
export async function* removePadding(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  /** Number of NUL bytes at the end of the input so far; the next bytes decide whether they are data. */
  let held = 0;
  let isLineStart = true;
  for await (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length) {
      const from = at;
      while (chunk[at] === NUL) at++;
      held += at - from;
      if (at === chunk.length) break;
      const isLineEnd = chunk[at] === LINE_FEED || chunk[at] === CARRIAGE_RETURN;
      if (held >= MIN_PADDING && !isLineStart && !isLineEnd) yield SEPARATOR;
      if (held > 0 && held < MIN_PADDING) yield Buffer.alloc(held);
      held = 0;
      const next = chunk.indexOf(NUL, at);
      const end = next === -1 ? chunk.length : next;
      yield chunk.subarray(at, end);
      isLineStart = chunk[end - 1] === LINE_FEED;
      at = end;
    }
  }
  if (held > 0 && held < MIN_PADDING) yield Buffer.alloc(held);
}
