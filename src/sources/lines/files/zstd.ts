import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { finish, step } from '../../decoding/gunzip.js';

type ZstdDecompress = Transform & { readonly bytesWritten: number };

/** Absent before Node.js 22.15. */
const { createZstdDecompress } = zlib as typeof zlib & { createZstdDecompress?: () => ZstdDecompress };

/** Whether this Node.js decompresses zstd. */
export const READS_ZSTD = createZstdDecompress !== undefined;

const FRAME = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
/**
 * Input is unpacked in slices of this size: four bytes can become a block of 128 KiB, and the output of a
 * slice is in memory at once, 128 MiB at most.
 */
const SLICE_BYTES = 4_096;

const REASONS: Readonly<Record<string, string>> = {
  Z_BUF_ERROR: 'the zstd data is cut off',
  ZSTD_error_frameParameter_windowTooLarge: 'the zstd data needs more than 128 MiB of memory (zstd --long)',
  ZSTD_error_dictionary_wrong: 'the zstd data needs a dictionary',
};

/**
 * Whether bytes begin as a zstd file does: with a frame of data, or with a frame to skip (RFC 8878, section
 * 3.1).
 */
export function isZstd(bytes: Buffer): boolean {
  if (bytes.length < 4) return false;
  const magic = bytes.readUInt32LE();
  return magic === FRAME || (magic & 0xfffffff0) === SKIPPABLE;
}

/**
 * Decompresses zstd, also with several frames. For truncated or damaged input, the readable part is yielded
 * before the error is thrown.
 *
 * @param onTrailing called for bytes after the last frame, which are ignored
 */
export async function* unzstd(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  onTrailing: () => void = () => undefined,
): AsyncGenerator<Buffer> {
  const unpacked: Buffer[] = [];
  const open = () => {
    if (!createZstdDecompress) throw new TypeError('this Node.js has no zstd');
    return createZstdDecompress().on('data', (data: Buffer) => unpacked.push(data));
  };
  let stream = open();
  try {
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length;) {
        const slice = chunk.subarray(at, at + SLICE_BYTES);
        const before = stream.bytesWritten;
        const error = await step(stream, (done) => stream.write(slice, done));
        yield* unpacked.splice(0);
        if (error && isNoFrame(error)) {
          onTrailing();
          return;
        }
        if (error) throw explain(error);
        const read = stream.bytesWritten - before;
        at += read;
        // A stream ends with its frame, unless the next frame begins in another slice.
        if (read < slice.length) {
          stream.destroy();
          stream = open();
        }
      }
    const error = await step(stream, (done) => {
      finish(stream, done);
    });
    yield* unpacked.splice(0);
    if (error) throw explain(error);
  } finally {
    stream.destroy();
  }
}

function isNoFrame(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ZSTD_error_prefix_unknown';
}

function explain(error: NodeJS.ErrnoException): Error {
  return new Error(REASONS[error.code ?? ''] ?? 'the zstd data is damaged', { cause: error });
}
