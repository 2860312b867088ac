import type { Transform } from 'node:stream';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';

/**
 * Input is unpacked in slices of this size, and the output checked after each: gzip can expand a slice a
 * thousand times.
 */
const SLICE_BYTES = 8 * 1024;
/** Larger output is unpacked in slices. */
const MAX_AT_ONCE_BYTES = 256 * 1024;
/** The sizes of a header and a trailer. */
const MIN_GZIP_BYTES = 18;
const TRAILER_BYTES = 8;
/** An extra field has up to 64 KiB; names and comments are short. */
const MAX_HEADER_BYTES = 256 * 1024;
const DEFLATE = 8;
const [HAS_CHECKSUM, HAS_EXTRA, HAS_NAME, HAS_COMMENT] = [2, 4, 8, 16];

/** Whether bytes begin as a gzip file does (RFC 1952, section 2.3.1). */
export function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/**
 * The decompressed size according to gzip's trailer (RFC 1952, section 2.3.1), of the last member if there
 * are several. An estimate, because a sender can forge it.
 */
export function readUnpackedSize(bytes: Buffer): number {
  return bytes.length < MIN_GZIP_BYTES ? 0 : bytes.readUInt32LE(bytes.length - 4);
}

/** Whether zlib stopped because the output would have been longer than `maxOutputLength`. */
export function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
}

/**
 * Decompresses gzip, also with several members and with zeros between and after them. For truncated or
 * damaged input, the readable part is yielded before the error is thrown. zlib's own reader of several
 * members loses data before bytes that are not a member, and members after zeros.
 *
 * @param onTrailing called for other bytes after the last member, which are ignored; by default they are an
 * error
 */
export async function* gunzip(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  onTrailing: () => void = () => {
    throw damaged('bytes follow that are no gzip');
  },
): AsyncGenerator<Buffer> {
  const source = new Source(chunks);
  try {
    do {
      await readHeader(source);
      yield* inflateMember(source);
      await source.skipZeros();
    } while ((await source.fill(2)) && isGzip(source.bytes));
    if (source.bytes.length > 0) onTrailing();
  } finally {
    await source.close();
  }
}

/** Bytes that are read on demand. */
class Source {
  bytes: Buffer = Buffer.alloc(0);
  private readonly chunks: AsyncIterator<Buffer> | Iterator<Buffer>;

  constructor(chunks: AsyncIterable<Buffer> | Iterable<Buffer>) {
    this.chunks = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  }

  /** Reads until `count` bytes are available; false if the source ends before. */
  async fill(count: number): Promise<boolean> {
    while (this.bytes.length < count) {
      const next = await this.chunks.next();
      if (next.done === true) return false;
      this.bytes = this.bytes.length === 0 ? next.value : Buffer.concat([this.bytes, next.value]);
    }
    return true;
  }

  /** Ends the reading at any position. The rest of a request's body is then dropped. */
  async close(): Promise<void> {
    await this.chunks.return?.();
  }

  skip(count: number): void {
    this.bytes = this.bytes.subarray(count);
  }

  async skipZeros(): Promise<void> {
    do {
      const other = this.bytes.findIndex((byte) => byte !== 0);
      this.skip(other === -1 ? this.bytes.length : other);
    } while (this.bytes.length === 0 && (await this.fill(1)));
  }
}

/** Reads a member's header (RFC 1952, section 2.3). */
async function readHeader(source: Source): Promise<void> {
  let length = findHeaderLength(source.bytes);
  while (length === undefined) {
    if (source.bytes.length > MAX_HEADER_BYTES) throw damaged('the header is too long');
    if (!(await source.fill(source.bytes.length + 1))) throw cutOff();
    length = findHeaderLength(source.bytes);
  }
  source.skip(length);
}

/** Undefined if the header is not complete. */
function findHeaderLength(bytes: Buffer): number | undefined {
  if (bytes.length < 10) return undefined;
  if (!isGzip(bytes) || bytes[2] !== DEFLATE) throw damaged('unknown compression method');
  const flags = bytes.readUInt8(3);
  let end = 10;
  if (flags & HAS_EXTRA) {
    if (bytes.length < end + 2) return undefined;
    end += 2 + bytes.readUInt16LE(end);
  }
  for (const flag of [HAS_NAME, HAS_COMMENT]) {
    if (!(flags & flag)) continue;
    const zero = bytes.indexOf(0, end);
    if (zero === -1) return undefined;
    end = zero + 1;
  }
  if (flags & HAS_CHECKSUM) end += 2;
  return end <= bytes.length ? end : undefined;
}

/** The decompressed data of a member; its trailer is checked. */
async function* inflateMember(source: Source): AsyncGenerator<Buffer> {
  let [checksum, length] = [0, 0];
  const whole = inflateAtOnce(source);
  for await (const data of whole ? [whole] : inflateInSlices(source)) {
    checksum = crc32(data, checksum);
    length += data.length;
    yield data;
  }
  if (!(await source.fill(TRAILER_BYTES))) throw cutOff();
  const isWhole =
    source.bytes.readUInt32LE() === checksum && source.bytes.readUInt32LE(4) === length % 2 ** 32;
  if (!isWhole) throw damaged('incorrect data check');
  source.skip(TRAILER_BYTES);
}

/**
 * The data of a small member whose bytes are all there, in a tenth of the time that a stream takes. Null for
 * any other.
 */
function inflateAtOnce(source: Source): Buffer | null {
  if (source.bytes.length > SLICE_BYTES) return null;
  try {
    const options = { info: true, maxOutputLength: MAX_AT_ONCE_BYTES };
    const unpacked = inflateRawSync(source.bytes, options) as unknown;
    const { buffer, engine } = unpacked as { buffer: Buffer; engine: { bytesWritten: number } };
    source.skip(engine.bytesWritten);
    return buffer;
  } catch {
    return null;
  }
}

async function* inflateInSlices(source: Source): AsyncGenerator<Buffer> {
  const stream = createInflateRaw();
  const unpacked: Buffer[] = [];
  stream.on('data', (data: Buffer) => unpacked.push(data));
  try {
    let isEnded = false;
    while (!isEnded && (await source.fill(1))) {
      const slice = source.bytes.subarray(0, SLICE_BYTES);
      const before = stream.bytesWritten;
      const error = await step(stream, (done) => stream.write(slice, done));
      yield* unpacked.splice(0);
      if (error) throw error;
      const used = stream.bytesWritten - before;
      source.skip(used);
      // The data ended within this slice, or exactly at its end.
      isEnded = used < slice.length;
    }
    const error = await step(stream, (done) => {
      finish(stream, done);
    });
    yield* unpacked.splice(0);
    if (error) throw error;
  } finally {
    stream.destroy();
  }
}

function cutOff(): Error {
  return Object.assign(new Error('unexpected end of file'), { code: 'Z_BUF_ERROR' });
}

function damaged(message: string): Error {
  return Object.assign(new Error(message), { code: 'Z_DATA_ERROR' });
}

/** Resolves once a step of a zlib stream is done, or to its error: zlib calls nothing back after an error. */
export function step(stream: Transform, start: (done: () => void) => void): Promise<Error | undefined> {
  return new Promise((resolve) => {
    stream.once('error', resolve);
    start(() => {
      stream.off('error', resolve);
      resolve(undefined);
    });
  });
}

/** Ends a zlib stream, and calls `done` after its last data. */
export function finish(stream: Transform, done: () => void) {
  // Padding after the last member ends the stream early, and it ends only once.
  if (stream.readableEnded) done();
  else stream.once('end', done).end();
}
