import { hash } from 'node:crypto';

/** Hex digits of 64 bits. */
const DIGITS = 16;

/**
 * Hashes by which the store recognizes a record that comes again in another body: of all that the record
 * says, where it comes from, and how many equal ones were before it in its body. So equal records of one
 * body stay apart.
 */
export class RecordHashes {
  private readonly occurrences = new Map<string, number>();

  /**
   * The hash of the next record of the body, as the decimal digits of a 64-bit integer.
   *
   * @param parts of the record and its origin, as text: to encode the record as Protobuf again took as long
   *   as all of the parsing
   */
  next(parts: readonly unknown[]): string {
    const digest = hash('sha256', parts.join('\n'));
    const before = this.occurrences.get(digest) ?? 0;
    this.occurrences.set(digest, before + 1);
    const recordDigest = before === 0 ? digest : hash('sha256', `${digest}\n${before}`);
    return BigInt(`0x${recordDigest.slice(0, DIGITS)}`).toString();
  }
}
