import { ByteQueue } from './byte-queue.js';

/** Magic numbers of a block and of the end of a stream, each in two halves of 24 bits. */
const [BLOCK, BLOCK_2] = [0x314159, 0x265359];
const [END, END_2] = [0x177245, 0x385090];
const BLOCK_BYTES = 100_000;
/** Beyond its symbols, of 20 bits at most, a block has tables of less than that. */
const TABLE_BYTES = 32_768;
const MAX_CODE_BITS = 20;
const GROUP_SYMBOLS = 50;
/** As many as the largest block needs; more are read and not used. */
const MAX_SELECTORS = 18_002;
/** The two symbols of a run's length; the others are positions in the list of recent bytes. */
const [RUN_A, RUN_B] = [0, 1];
/** After four equal bytes, one byte is the number of further ones. */
const RUN_BYTES = 4;
const OUTPUT_BYTES = 64 * 1024;

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  return crc;
});

class CutOffError extends Error {
  override readonly message = 'the bzip2 data is cut off';
}
class DamagedError extends Error {
  override readonly message = 'the bzip2 data is damaged';
}

/** Whether bytes begin as a bzip2 file does: with its level, and a block or, without data, the end. */
export function isBzip2(bytes: Buffer): boolean {
  if (!/^BZh[1-9]$/.test(bytes.toString('latin1', 0, 4)) || bytes.length < 10) return false;
  const [first, second] = [bytes.readUIntBE(4, 3), bytes.readUIntBE(7, 3)];
  return (first === BLOCK && second === BLOCK_2) || (first === END && second === END_2);
}

/**
 * Decompresses bzip2, also with several streams, block by block and with bounded memory: no maintained library does
 * so. What follows the last stream and is none is ignored, as with gzip. Of truncated or damaged input, the blocks before
 * are yielded before the error is thrown. Checksums are compared.
 */
export async function* bunzip2(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  const queue = new ByteQueue(chunks);
  for (let head = await queue.peek(10); isBzip2(head); head = await queue.peek(10)) {
    const blockBytes = (head.readUInt8(3) - 0x30) * BLOCK_BYTES;
    queue.skip(4);
    yield* readStream(queue, blockBytes);
  }
}

async function* readStream(queue: ByteQueue, blockBytes: number): AsyncGenerator<Buffer> {
  let offset = 0;
  let combined = 0;
  for (;;) {
    const bits = new BitReader(await queue.peek((blockBytes * MAX_CODE_BITS) / 8 + TABLE_BYTES), offset);
    const [first, second] = [bits.read(24), bits.read(24)];
    if (first === END && second === END_2) {
      if (bits.read32() !== combined) throw new DamagedError();
      queue.skip(Math.ceil(bits.position / 8));
      return;
    }
    if (first !== BLOCK || second !== BLOCK_2) throw new DamagedError();
    const expected = bits.read32();
    const block = readBlock(bits, blockBytes);
    let crc = -1;
    for (const bytes of unpackBlock(block)) {
      crc = updateCrc(crc, bytes);
      yield bytes;
    }
    if (~crc !== expected) throw new DamagedError();
    combined = ((combined << 1) | (combined >>> 31)) ^ expected;
    queue.skip(Math.floor(bits.position / 8));
    offset = bits.position % 8;
  }
}

/** Reads numbers of some bits, the highest bit first. */
class BitReader {
  private at = 0;
  private buffer = 0;
  private count = 0;

  constructor(
    private readonly bytes: Buffer,
    offset: number,
  ) {
    this.read(offset);
  }

  /** Bits read so far. */
  get position(): number {
    return this.at * 8 - this.count;
  }

  /** At most 24 bits. */
  read(bits: number): number {
    while (this.count < bits) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new CutOffError();
      this.buffer = (this.buffer << 8) | byte;
      this.count += 8;
    }
    this.count -= bits;
    return (this.buffer >>> this.count) & ((1 << bits) - 1);
  }

  read32(): number {
    return (this.read(16) << 16) | this.read(16);
  }
}

/** A block as its sender sorted it. */
interface Block {
  /** In the lowest eight bits of each, the sorted bytes. */
  sorted: Int32Array;
  length: number;
  /** Of the original text in the order of the sorting. */
  origin: number;
}

/** One Huffman code: for each length in bits the last code, and what to subtract from it for the index of its symbol. */
interface Code {
  minBits: number;
  maxBits: number;
  last: Int32Array;
  base: Int32Array;
  symbols: Uint16Array;
}

function readBlock(bits: BitReader, blockBytes: number): Block {
  // A form that no version since 1997 writes.
  if (bits.read(1) === 1) throw new DamagedError();
  const origin = bits.read(24);
  const recent = readUsedBytes(bits);
  const endSymbol = recent.length + 1;
  const groups = bits.read(3);
  if (groups < 2 || groups > 6 || recent.length === 0) throw new DamagedError();
  const selectors = readSelectors(bits, groups);
  const codes = Array.from({ length: groups }, () => readCode(bits, endSymbol + 1));
  const sorted = new Int32Array(blockBytes);
  let [length, run, runDigit] = [0, 0, 1];
  for (const selector of selectors) {
    const code = codes[selector];
    if (code === undefined) break;
    for (let left = GROUP_SYMBOLS; left > 0; left--) {
      const symbol = readSymbol(bits, code);
      if (symbol === RUN_A || symbol === RUN_B) {
        run += runDigit << symbol;
        runDigit <<= 1;
        if (run > blockBytes) throw new DamagedError();
        continue;
      }
      if (length + run + 1 > blockBytes + (symbol === endSymbol ? 1 : 0)) throw new DamagedError();
      sorted.fill(recent[0] ?? 0, length, length + run);
      length += run;
      [run, runDigit] = [0, 1];
      if (symbol === endSymbol) {
        if (origin >= length) throw new DamagedError();
        return { sorted, length, origin };
      }
      const byte = recent[symbol - 1] ?? 0;
      recent.copyWithin(1, 0, symbol - 1);
      recent[0] = byte;
      sorted[length++] = byte;
    }
  }
  throw new DamagedError();
}

/** The bytes that occur in a block, in their order. */
function readUsedBytes(bits: BitReader): Uint8Array {
  const ranges = bits.read(16);
  const used: number[] = [];
  for (let range = 0; range < 16; range++) {
    const members = (ranges & (0x8000 >> range)) === 0 ? 0 : bits.read(16);
    for (let member = 0; member < 16; member++)
      if ((members & (0x8000 >> member)) !== 0) used.push(range * 16 + member);
  }
  return Uint8Array.from(used);
}

/** The code of each group of symbols, as positions in the list of recently used ones. */
function readSelectors(bits: BitReader, groups: number): number[] {
  const count = bits.read(15);
  const recent = Array.from({ length: groups }, (_, group) => group);
  const selectors: number[] = [];
  for (let index = 0; index < count; index++) {
    let position = 0;
    while (bits.read(1) === 1) position++;
    const [group] = recent.splice(position, 1);
    if (group === undefined) throw new DamagedError();
    recent.unshift(group);
    if (index < MAX_SELECTORS) selectors.push(group);
  }
  return selectors;
}

function readCode(bits: BitReader, symbolCount: number): Code {
  const lengths: number[] = [];
  let length = bits.read(5);
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    for (;;) {
      if (length < 1 || length > MAX_CODE_BITS) throw new DamagedError();
      if (bits.read(1) === 0) break;
      length += bits.read(1) === 0 ? 1 : -1;
    }
    lengths.push(length);
  }
  const [minBits, maxBits] = [Math.min(...lengths), Math.max(...lengths)];
  const symbols: number[] = [];
  const last = new Int32Array(MAX_CODE_BITS + 1).fill(-1);
  const base = new Int32Array(MAX_CODE_BITS + 1);
  let next = 0;
  for (let width = minBits; width <= maxBits; width++) {
    const start = next - symbols.length;
    for (const [symbol, own] of lengths.entries()) if (own === width) symbols.push(symbol);
    next = start + symbols.length;
    base[width] = start;
    last[width] = next - 1;
    next <<= 1;
  }
  return { minBits, maxBits, last, base, symbols: Uint16Array.from(symbols) };
}

function readSymbol(bits: BitReader, { minBits, maxBits, last, base, symbols }: Code): number {
  let code = bits.read(minBits);
  for (let width = minBits; width <= maxBits; width++) {
    if (code <= (last[width] ?? -1)) {
      const symbol = symbols[code - (base[width] ?? 0)];
      if (symbol === undefined) throw new DamagedError();
      return symbol;
    }
    code = (code << 1) | bits.read(1);
  }
  throw new DamagedError();
}

/** Undoes the sorting (Burrows-Wheeler) and the runs, in pieces of at most 64 KiB and a run. */
function* unpackBlock({ sorted, length, origin }: Block): Generator<Buffer> {
  linkSorted(sorted, length);
  let output = Buffer.allocUnsafe(OUTPUT_BYTES + 255);
  let [size, equal, previous] = [0, 0, -1];
  let link = (sorted[origin] ?? 0) >>> 8;
  for (let index = 0; index < length; index++) {
    const entry = sorted[link] ?? 0;
    const byte = entry & 0xff;
    link = entry >>> 8;
    if (equal === RUN_BYTES) {
      output.fill(previous, size, size + byte);
      size += byte;
      equal = 0;
      previous = -1;
    } else {
      output[size++] = byte;
      equal = byte === previous ? equal + 1 : 1;
      previous = byte;
    }
    if (size < OUTPUT_BYTES) continue;
    yield output.subarray(0, size);
    output = Buffer.allocUnsafe(OUTPUT_BYTES + 255);
    size = 0;
  }
  if (size > 0) yield output.subarray(0, size);
}

/** Adds to each sorted byte, in the higher bits, where the byte that follows it in the original is. */
function linkSorted(sorted: Int32Array, length: number) {
  const starts = new Int32Array(257);
  for (const byte of sorted.subarray(0, length)) starts[byte + 1] = (starts[byte + 1] ?? 0) + 1;
  for (let byte = 0; byte < 256; byte++) starts[byte + 1] = (starts[byte + 1] ?? 0) + (starts[byte] ?? 0);
  for (let index = 0; index < length; index++) {
    const byte = (sorted[index] ?? 0) & 0xff;
    const place = starts[byte] ?? 0;
    starts[byte] = place + 1;
    sorted[place] = (sorted[place] ?? 0) | (index << 8);
  }
}

function updateCrc(start: number, bytes: Buffer): number {
  let crc = start;
  for (const byte of bytes) crc = (crc << 8) ^ (CRC_TABLE[(crc >>> 24) ^ byte] ?? 0);
  return crc;
}
