import { isGzip } from '../../decoding/gunzip.js';
import { READS_ZSTD, isZstd } from './zstd.js';

/** Number of bytes that are enough to recognize a file: the signature of a tar archive ends at byte 262. */
export const SIGNATURE_BYTES = 512;

/** A file format that cannot be read line by line, and how to convert it. */
interface Signature {
  readonly is: string;
  readonly cure: string;
  readonly matches: (head: Buffer) => boolean;
}

/** Number of bytes at the beginning that are checked. */
const MAX_HEAD = 4_096;
const READABLE = 'only NDJSON and access logs can be imported';
/**
 * Bytes with at least this share of control characters are not text: random bytes have a tenth, text has
 * almost none.
 */
const MAX_CONTROL_SHARE = 0.05;
/**
 * Control characters that text does not have; the escape character is not among them, because it begins a
 * colour.
 */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0e-\x1a\x1c-\x1f]/g;

/** The order matters: the marks of UTF-32 begin with those of UTF-16. */
const SIGNATURES: readonly Signature[] = [
  packed('gzip, twice', 'gunzip -c', isGzip),
  packed(READS_ZSTD ? 'zstd, twice' : 'zstd, which Node.js reads from 22.15 on', 'zstd -dc', isZstd),
  packed('xz', 'xz -dc', startsWith('fd377a585a00')),
  packed('bzip2', 'bzip2 -dc', isBzip2),
  packed('lz4', 'lz4 -dc', startsWith('04224d18', '02214c18')),
  packed('compress', 'uncompress -c', startsWith('1f9d')),
  packed('lzip', 'lzip -dc', startsWith('4c5a4950')),
  archive('a ZIP archive', 'unzip', startsWith('504b0304', '504b0506', '504b0708')),
  archive('a 7z archive', '7z x', startsWith('377abcaf271c')),
  archive('a RAR archive', 'unrar x', startsWith('526172211a07')),
  archive('a tar archive', 'tar -xf', (head) => head.toString('latin1', 257, 262) === 'ustar'),
  encoded('UTF-32', startsWith('fffe0000', '0000feff')),
  encoded('UTF-16', startsWith('fffe', 'feff')),
  encoded('UTF-32LE', (head) => hasNulsAt(head, [1, 2, 3])),
  encoded('UTF-32BE', (head) => hasNulsAt(head, [0, 1, 2])),
  encoded('UTF-16LE', (head) => hasNulsAt(head, [1, 3])),
  encoded('UTF-16BE', (head) => hasNulsAt(head, [0, 2])),
  { is: 'it is Parquet', cure: READABLE, matches: startsWith('50415231') },
  { is: 'it is an SQLite database', cure: READABLE, matches: startsWith('53514c69746520666f726d6174203300') },
  {
    is: 'it is a JSON array',
    cure: 'write one object in each line, as jq -c ".[]" does',
    matches: (head) => /^(?:\u00ef\u00bb\u00bf)?[ \t\r\n]*\[[ \t]*\{/.test(head.toString('latin1')),
  },
  { is: 'it is binary data', cure: READABLE, matches: isBinary },
];

/**
 * Why a file cannot be read line by line, with the remedy, as one clause; undefined if it can be read. `head`
 * is its beginning, decompressed if it is gzip or zstd: at least `SIGNATURE_BYTES`, or the whole file.
 */
export function explainUnreadable(head: Buffer): string | undefined {
  const bytes = head.subarray(0, MAX_HEAD);
  const signature = SIGNATURES.find(({ matches }) => matches(bytes));
  return signature && `${signature.is}; ${signature.cure}`;
}

function packed(name: string, command: string, matches: Signature['matches']): Signature {
  return {
    is: `it is compressed with ${name}`,
    cure: `decompress it first: ${command} FILE | request-analytics import - …`,
    matches,
  };
}

/** The signature with a level, and the mark of the first block or of the end. */
function isBzip2(head: Buffer): boolean {
  return /^425a683[1-9](?:314159265359|177245385090)/.test(head.toString('hex', 0, 10));
}

function archive(is: string, command: string, matches: Signature['matches']): Signature {
  return {
    is: `it is ${is}`,
    cure: `extract it first, with ${command}, and import the files in it`,
    matches,
  };
}

function encoded(name: string, matches: Signature['matches']): Signature {
  return {
    is: `it is text in ${name}`,
    cure: `convert it first, with iconv -f ${name} -t UTF-8`,
    matches,
  };
}

function startsWith(...signatures: string[]): Signature['matches'] {
  const bytes = signatures.map((hex) => Buffer.from(hex, 'hex'));
  return (head) => bytes.some((signature) => head.subarray(0, signature.length).equals(signature));
}

/** Whether most groups of four bytes have NUL at the given positions and not at the others. */
function hasNulsAt(head: Buffer, places: readonly number[]): boolean {
  const share = (place: number) =>
    head.filter((byte, index) => byte === 0 && index % 4 === place).length / Math.floor(head.length / 4);
  return (
    head.length >= 4 &&
    [0, 1, 2, 3].every((place) => (places.includes(place) ? share(place) > 0.5 : share(place) < 0.1))
  );
}

/** Whether the bytes have more control characters than text has; text may have blocks of NUL. */
function isBinary(head: Buffer): boolean {
  const text = head.toString('latin1').replace(/\0{8,}/g, '');
  const controls = text.match(CONTROL)?.length ?? 0;
  return controls > text.length * MAX_CONTROL_SHARE;
}
