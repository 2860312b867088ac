import { randomBytes } from 'node:crypto';
import { hasProgram, pack as packWith } from '../setup/compress.js';
import { READS_ZSTD, isZstd, unzstd } from '../../src/sources/lines/files/zstd.js';

const LINE = '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /grüße HTTP/1.1" 200 512 "-" "curl/8"\n';
const TEXT = Buffer.from(
  Array.from({ length: 10_000 }, (_, index) => `${index} ${Math.sin(index)} ${LINE}`).join(''),
);
const RUNS = Buffer.concat(
  Array.from({ length: 600 }, (_, length) => Buffer.alloc(length, 97 + (length % 3))),
);

const pack = (input: Buffer, ...options: string[]) => packWith('zstd', input, ...options);

/** Splits bytes into chunks as a pipe may. */
function* split(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** All that is yielded, and the message of the error that ended it. */
async function drain(pieces: AsyncIterable<Buffer>) {
  const unpacked: Buffer[] = [];
  let error: string | undefined;
  try {
    for await (const piece of pieces) unpacked.push(Buffer.from(piece));
  } catch (caught) {
    error = (caught as Error).message;
  }
  return {
    bytes: Buffer.concat(unpacked),
    largest: Math.max(0, ...unpacked.map(({ length }) => length)),
    error,
  };
}

(READS_ZSTD && hasProgram('zstd') ? describe : describe.skip)('unzstd', () => {
  let packedText: Buffer;
  beforeAll(() => {
    packedText = pack(TEXT);
  });

  it.each(['1', '19'])('reads what the program writes at level %s', async (level) => {
    for (const input of [TEXT, RUNS, randomBytes(150_000), Buffer.alloc(1), Buffer.alloc(0)]) {
      const packed = pack(input, `-${level}`);
      expect(isZstd(packed)).toBe(true);
      const { bytes, error } = await drain(unzstd(split(packed, 65_536)));
      expect([error, bytes.equals(input)]).toEqual([undefined, true]);
    }
  });

  it('reads it byte by byte', async () => {
    const { bytes, error } = await drain(unzstd(split(pack(RUNS), 1)));
    expect([error, bytes.equals(RUNS)]).toEqual([undefined, true]);
  });

  it('reads several files in one, and ignores what follows and is none', async () => {
    const packed = Buffer.concat([packedText, pack(Buffer.alloc(0)), pack(RUNS)]);
    for (const rest of [Buffer.alloc(0), Buffer.alloc(512), Buffer.from('rest')]) {
      const { bytes, error } = await drain(unzstd([Buffer.concat([packed, rest])]));
      expect([error, bytes.equals(Buffer.concat([TEXT, RUNS]))]).toEqual([undefined, true]);
    }
  });

  it('returns what is readable of a file that was cut off, wherever, then says so', async () => {
    const short = pack(RUNS.subarray(0, 20_000));
    for (let length = 10; length < short.length; length += 7) {
      const { bytes, error } = await drain(unzstd([short.subarray(0, length)]));
      expect([length, error]).toEqual([length, 'the zstd data is cut off']);
      expect(RUNS.subarray(0, bytes.length).equals(bytes)).toBe(true);
    }
    const { bytes, error } = await drain(unzstd(split(packedText.subarray(0, -1_000), 4_096)));
    expect(error).toBe('the zstd data is cut off');
    expect(bytes.length).toBeGreaterThan(400_000);
    expect(TEXT.subarray(0, bytes.length).equals(bytes)).toBe(true);
  });

  it('fails or ends, and does not hang, whichever byte is damaged', async () => {
    for (let round = 0; round < 20; round++) {
      const damaged = Buffer.from(packedText.subarray(0, 80_000));
      damaged.fill(randomBytes(8), (round * 7_477) % damaged.length);
      const { error } = await drain(unzstd([damaged]));
      expect(error ?? 'no error').toMatch(/ data (is damaged|is cut off|needs )|no error/);
    }
  });

  it('returns the good part of damaged data, then says so', async () => {
    const damaged = Buffer.from(packedText);
    damaged.fill(0xff, damaged.length - 3_000, damaged.length - 2_000);
    const { bytes, error } = await drain(unzstd(split(damaged, 65_536)));
    expect(error).toMatch(/data is (damaged|cut off)$/);
    expect(bytes.length).toBeGreaterThan(400_000);
  });

  it('yields a bomb in small pieces, one after the other', async () => {
    const bomb = pack(Buffer.alloc(20_000_000));
    expect(bomb.length).toBeLessThan(20_000);
    let [total, largest] = [0, 0];
    for await (const { length } of unzstd([bomb])) {
      total += length;
      largest = Math.max(largest, length);
      if (total > 5_000_000) break;
    }
    expect(total).toBeLessThan(5_200_000);
    expect(largest).toBeLessThanOrEqual(131_072);
  });

  const frame = (hex: string) => drain(unzstd([Buffer.from(hex, 'hex')]));

  it('skips frames that are to be skipped', async () => {
    const packed = packWith('zstd', 'a\n');
    const skippable = Buffer.from('512a4d180300000061626c', 'hex').subarray(0, 11);
    expect(isZstd(skippable)).toBe(true);
    const { bytes, error } = await drain(unzstd([Buffer.concat([skippable, packed, skippable])]));
    expect([error, bytes.toString()]).toEqual([undefined, 'a\n']);
  });

  it('refuses a window that needs much memory, and a dictionary', async () => {
    // 2 GiB, by its descriptor and by the size of a single segment.
    expect((await frame('28b52ffd00a8010000000000')).error).toMatch('more than 128 MiB of memory');
    expect((await frame('28b52ffde0000000ff0000000001000000')).error).toMatch('more than 128 MiB of memory');
    expect((await frame('28b52ffd2107020100000000')).error).toBe('the zstd data needs a dictionary');
  });
});

it.each([
  ['words', 'BZh9 is a word'],
  ['one byte', '('],
  ['nothing', ''],
])('%s is not zstd', (_, text) => {
  expect(isZstd(Buffer.from(text))).toBe(false);
});
