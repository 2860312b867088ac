import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { gunzip } from './gunzip.js';

/** Longer than a slice, also when it is packed. */
const TEXT = Array.from({ length: 1_000 }, (_, index) => `line ${index} ${Math.sin(index)}\n`).join('');
const PACKED = gzipSync(TEXT);
const SECOND = gzipSync('second\n');

interface Unpacked {
  text: string;
  hasTrailing: boolean;
  error: string | undefined;
}

async function unpack(bytes: Buffer, size = bytes.length): Promise<Unpacked> {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  const unpacked: Unpacked = { text: '', hasTrailing: false, error: undefined };
  try {
    for await (const piece of gunzip(chunks, () => (unpacked.hasTrailing = true)))
      unpacked.text += piece.toString();
  } catch (error) {
    unpacked.error = (error as NodeJS.ErrnoException).code;
  }
  return unpacked;
}

describe.each([Infinity, 1_000, 31])('gunzip, of chunks of %d bytes', (size) => {
  it.each([
    ['nothing', Buffer.alloc(0), TEXT],
    ['zeros', Buffer.alloc(600), TEXT],
    ['another member', SECOND, `${TEXT}second\n`],
    ['zeros and another member', Buffer.concat([Buffer.alloc(600), SECOND]), `${TEXT}second\n`],
  ])('reads a member with %s behind it', async (_, behind, text) => {
    expect(await unpack(Buffer.concat([PACKED, behind]), size)).toEqual({
      text,
      hasTrailing: false,
      error: undefined,
    });
  });

  it.each([
    ['text', Buffer.from('trailing\n')],
    ['one byte', Buffer.from([7])],
    ['half a signature', Buffer.from([0x1f])],
    ['zeros and text', Buffer.concat([Buffer.alloc(600), Buffer.from('xyz')])],
  ])('reads all of a member with %s behind it, and says so', async (_, behind) => {
    expect(await unpack(Buffer.concat([PACKED, behind]), size)).toEqual({
      text: TEXT,
      hasTrailing: true,
      error: undefined,
    });
  });

  it('reads the members before one that is cut off', async () => {
    const { text, error } = await unpack(Buffer.concat([SECOND, PACKED.subarray(0, -2_000)]), size);
    expect(error).toBe('Z_BUF_ERROR');
    expect(`second\n${TEXT}`.startsWith(text)).toBe(true);
    expect(text.length).toBeGreaterThan(10_000);
  });

  it.each([
    ['its trailer', PACKED.subarray(0, -3), 'Z_BUF_ERROR'],
    ['its header', PACKED.subarray(0, 6), 'Z_BUF_ERROR'],
  ])('fails where %s is cut off', async (_, bytes, error) => {
    expect(await unpack(bytes, size)).toMatchObject({ error });
  });

  it('fails for a wrong checksum, once all is read', async () => {
    const damaged = Buffer.from(PACKED);
    damaged.writeUInt32LE(7, damaged.length - 8);
    expect(await unpack(damaged, size)).toEqual({ text: TEXT, hasTrailing: false, error: 'Z_DATA_ERROR' });
  });
});

it.each([1, 2, 3, 5, 7])('reads headers and trailers in pieces of %d bytes', async (size) => {
  const bytes = Buffer.concat([SECOND, Buffer.alloc(3), SECOND, Buffer.from('trailing')]);
  expect(await unpack(bytes, size)).toEqual({
    text: 'second\nsecond\n',
    hasTrailing: true,
    error: undefined,
  });
});

it('reads the optional fields of a header', async () => {
  const fields = Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 0b11110, 0, 0, 0, 0, 0, 3]),
    Buffer.from([3, 0, 1, 2, 3]),
    Buffer.from('access.log\0a comment\0'),
    Buffer.from([1, 2]),
  ]);
  for (const size of [1, 5, 1_000])
    expect((await unpack(Buffer.concat([fields, SECOND.subarray(10)]), size)).text).toBe('second\n');
});

it('reads a header without an end in bounded memory', async () => {
  const header = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]);
  const endless = Buffer.concat([header, Buffer.alloc(10_000_000, 'a')]);
  expect(await unpack(endless, 65_536)).toMatchObject({ error: 'Z_DATA_ERROR', text: '' });
});

it('agrees with zlib on any bytes, however they are divided', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }),
      // From the beginning or, below 0, from the end: within a header, the data or a trailer.
      fc.integer({ min: -50, max: 50 }),
      async (members, cut) => {
        const packed = Buffer.concat(members.map((member) => gzipSync(member)));
        const whole: Buffer[] = [];
        for await (const piece of gunzip([packed.subarray(0, cut), packed.subarray(cut)])) whole.push(piece);
        expect(Buffer.concat(whole).equals(gunzipSync(packed))).toBe(true);
      },
    ),
  );
});
