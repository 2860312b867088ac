import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { ByteQueue } from './byte-queue.js';
import { step } from './gunzip.js';

/** Absent before Node.js 22.15. */
const { createZstdDecompress } = zlib as typeof zlib & { createZstdDecompress?: () => Transform };

const FRAME = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
/** Magic number, descriptor, window, dictionary ID and content size at most. */
const MAX_HEADER = 18;
/** The content size's bytes by its two bits, and the dictionary ID's. */
const SIZE_BYTES = [0, 2, 4, 8];
const DICTIONARY_BYTES = [0, 1, 2, 4];
/** As `zstd` without `--long=31`: 128 MiB. */
const MAX_WINDOW = 2 ** 27;
const MAX_BLOCK = 128 * 1024;
const RLE = 1;
const PROBE_CONTENT = Buffer.from('zstd');
/** A whole frame of one raw block. */
const PROBE = Buffer.concat([Buffer.from('28b52ffd2004210000', 'hex'), PROBE_CONTENT]);
const SKIP_BYTES = 64 * 1024;

const CUT_OFF = 'the zstd data is cut off';
const DAMAGED = 'the zstd data is damaged';

/** Decompresses one frame. */
interface FrameDecoder {
  /** The content of one block; none of the header. @throws Error if it is damaged */
  decode(block: Buffer): Buffer[] | Promise<Buffer[]>;
  /** Call after the last block. @throws Error if the frame is damaged */
  check(): void;
  close(): void;
}

type DecoderFactory = () => FrameDecoder | Promise<FrameDecoder>;

/** Whether bytes begin as a zstd file does: with a frame of data, or with one to skip (RFC 8878, section 3.1). */
export function isZstd(bytes: Buffer): boolean {
  return bytes.length >= 4 && (bytes.readUInt32LE() === FRAME || isSkippable(bytes));
}

/**
 * Decompresses zstd, also with several frames. The decoder gets one block at a time, which has at most 128 KiB, so that
 * memory is bounded. What follows the last frame and is none is ignored, as with gzip. Of truncated or damaged input, the
 * blocks before are yielded before the error is thrown.
 *
 * @param createDecoder that of Node.js, or a library where Node.js has none
 */
export async function* unzstd(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  createDecoder: DecoderFactory = createZstdDecompress
    ? () => createNodeDecoder(createZstdDecompress())
    : createLibraryDecoder,
): AsyncGenerator<Buffer> {
  const queue = new ByteQueue(chunks);
  for (let head = await queue.peek(MAX_HEADER); isZstd(head); head = await queue.peek(MAX_HEADER))
    if (isSkippable(head)) await skipFrame(queue);
    else yield* readFrame(queue, head, createDecoder);
}

function createNodeDecoder(stream: Transform): FrameDecoder {
  const unpacked: Buffer[] = [];
  stream.on('data', (data: Buffer) => unpacked.push(data));
  return {
    decode: async (block) => {
      const error = await step(stream, (done) => stream.write(block, done));
      if (error) throw new Error(DAMAGED, { cause: error });
      return unpacked.splice(0);
    },
    check: () => undefined,
    close: () => stream.destroy(),
  };
}

/** The frame that the library reads: it has one state. */
let current: symbol | undefined;

/** The library reports no error, but after one it returns nothing, also for a frame that is valid. */
export async function createLibraryDecoder(): Promise<FrameDecoder> {
  const { Zstd } = await import('@hpcc-js/wasm-zstd');
  const zstd = await Zstd.load();
  const own = (current = Symbol());
  zstd.reset();
  const decode = (block: Buffer) => {
    if (current !== own) throw new Error('two zstd sources are read at the same time');
    const { buffer, byteOffset, length } = zstd.decompressChunk(block, MAX_BLOCK);
    return length === 0 ? [] : [Buffer.from(buffer, byteOffset, length)];
  };
  return {
    decode,
    check: () => {
      if (!Buffer.concat(decode(PROBE)).equals(PROBE_CONTENT)) throw new Error(DAMAGED);
    },
    close: () => undefined,
  };
}

function isSkippable(bytes: Buffer): boolean {
  return (bytes.readUInt32LE() & 0xfffffff0) === SKIPPABLE;
}

async function skipFrame(queue: ByteQueue) {
  const header = await queue.take(8);
  if (!header) throw new Error(CUT_OFF);
  for (let left = header.readUInt32LE(4); left > 0; left -= SKIP_BYTES)
    if (!(await queue.take(Math.min(left, SKIP_BYTES)))) throw new Error(CUT_OFF);
}

async function* readFrame(
  queue: ByteQueue,
  head: Buffer,
  createDecoder: DecoderFactory,
): AsyncGenerator<Buffer> {
  const { headerBytes, hasChecksum } = readHeader(head);
  const header = await queue.take(headerBytes);
  if (!header) throw new Error(CUT_OFF);
  const decoder = await createDecoder();
  try {
    await decoder.decode(header);
    for (let isLast = false; !isLast;) {
      const blockHeader = (await queue.peek(3)).subarray(0, 3);
      if (blockHeader.length < 3) throw new Error(CUT_OFF);
      const bits = blockHeader.readUIntLE(0, 3);
      isLast = (bits & 1) === 1;
      const contentBytes = ((bits >> 1) & 3) === RLE ? 1 : bits >> 3;
      if (contentBytes > MAX_BLOCK) throw new Error(DAMAGED);
      const block = await queue.take(3 + contentBytes + (isLast && hasChecksum ? 4 : 0));
      if (!block) throw new Error(CUT_OFF);
      const content = await decoder.decode(block);
      if (content.length === 0 && bits >> 3 > 0) throw new Error(DAMAGED);
      yield* content;
    }
    decoder.check();
  } finally {
    decoder.close();
  }
}

/** RFC 8878, section 3.1.1.1. */
function readHeader(head: Buffer): { headerBytes: number; hasChecksum: boolean } {
  if (head.length < 6) throw new Error(CUT_OFF);
  const descriptor = head.readUInt8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = DICTIONARY_BYTES[descriptor & 3] ?? 0;
  const sizeBytes = (SIZE_BYTES[descriptor >> 6] ?? 0) || (isSingleSegment ? 1 : 0);
  const headerBytes = 5 + (isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes;
  if (head.length < headerBytes) throw new Error(CUT_OFF);
  const window = isSingleSegment
    ? readSize(head, headerBytes - sizeBytes, sizeBytes)
    : readWindow(head.readUInt8(5));
  if (window > MAX_WINDOW) throw new Error('the zstd data needs more than 128 MiB of memory (zstd --long)');
  const id =
    dictionaryBytes === 0 ? 0 : head.readUIntLE(headerBytes - sizeBytes - dictionaryBytes, dictionaryBytes);
  if (id !== 0) throw new Error('the zstd data needs a dictionary');
  return { headerBytes, hasChecksum: (descriptor & 4) !== 0 };
}

function readSize(head: Buffer, at: number, bytes: number): number {
  if (bytes === 8) return Number(head.readBigUInt64LE(at));
  return head.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}

function readWindow(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}
