import type { Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** What is unpacked before its size is looked at: gzip can expand it a thousand times. */
const SLICE_BYTES = 8 * 1024;
/** A header and a trailer. */
const MIN_GZIP_BYTES = 18;

/** Whether bytes begin as a gzip file does (RFC 1952, section 2.3.1). */
export function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/**
 * The decompressed size according to gzip's trailer (RFC 1952, section 2.3.1), of the last member if there are several. An
 * estimate, because a sender can forge it.
 */
export function readUnpackedSize(bytes: Buffer): number {
  return bytes.length < MIN_GZIP_BYTES ? 0 : bytes.readUInt32LE(bytes.length - 4);
}

/** Whether zlib stopped because the output would have been longer than `maxOutputLength`. */
export function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
}

/**
 * Decompresses gzip, also with several members. Of truncated or damaged input, the readable part is
 * yielded before the error is thrown; a pipe would drop its buffered data. With damaged input, the last 16 KiB before
 * the damage may be missing.
 */
export async function* gunzip(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  const stream = createGunzip();
  const unpacked: Buffer[] = [];
  stream.on('data', (data: Buffer) => unpacked.push(data));
  try {
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        const slice = chunk.subarray(at, at + SLICE_BYTES);
        const error = await step(stream, (done) => stream.write(slice, done));
        yield* unpacked.splice(0);
        if (error) throw error;
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

/** Resolves once the step of a stream of zlib is done, or to the error that came instead: then zlib calls nothing back. */
export function step(stream: Transform, start: (done: () => void) => void): Promise<Error | undefined> {
  return new Promise((resolve) => {
    stream.once('error', resolve);
    start(() => {
      stream.off('error', resolve);
      resolve(undefined);
    });
  });
}

/** Ends a stream of zlib, and calls `done` once its last data was emitted. */
export function finish(stream: Transform, done: () => void) {
  // Padding after the last member ends the stream early, and it ends only once.
  if (stream.readableEnded) done();
  else stream.once('end', done).end();
}
