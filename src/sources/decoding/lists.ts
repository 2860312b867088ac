import type { Steps } from '../../shared/async/slices.js';
import { InvalidRecordError, LenientReader, isAbsent } from '../../records/decoding/decoders.js';
import type { RejectedEntries } from '../../write/batches/rejected-entries.js';

/**
 * Largest number of entries that are read. An application has some hundred endpoints and consumers a minute.
 */
export const MAX_ENTRIES = 20_000;

/**
 * Parses one entry of a list; the reader reads its optional members. Throws an InvalidRecordError for an
 * invalid entry.
 */
export type EntryDecoder<T> = (value: unknown, name: string, reader: LenientReader) => T;

/**
 * The valid entries of a list; invalid ones are added to `rejected` and do not affect the others. A missing
 * or null list is empty.
 *
 * @throws InvalidRecordError if the value is not a list
 */
export function* parseList<T>(
  value: unknown,
  name: string,
  decode: EntryDecoder<T>,
  rejected: RejectedEntries,
): Steps<T[]> {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw new InvalidRecordError(`${name}: must be an array`);
  const accepted: T[] = [];
  for (const [index, item] of value.entries()) {
    if (index === MAX_ENTRIES) {
      rejected.add(`${name}: more than ${MAX_ENTRIES} entries`, value.length - MAX_ENTRIES);
      break;
    }
    try {
      const reader = new LenientReader();
      accepted.push(decode(item, `${name}[${index}]`, reader));
      rejected.addMembers(reader.ignored);
    } catch (error) {
      if (!(error instanceof InvalidRecordError)) throw error;
      rejected.add(error.message);
    }
    yield;
  }
  return accepted;
}

/** @throws InvalidRecordError when entries were rejected and none was accepted */
export function requireAccepted({ reason }: RejectedEntries, accepted: number): void {
  if (accepted === 0 && reason !== undefined) throw new InvalidRecordError(reason);
}
