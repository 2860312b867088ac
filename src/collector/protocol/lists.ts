import { InvalidRecordError, LenientReader, isAbsent } from '../../ingestion/formats/decoders.js';

/** Largest number of entries that are read: an application has some hundred endpoints and consumers a minute. */
export const MAX_ENTRIES = 20_000;

/** Rejected parts of an accepted message: entries, and optional members of accepted entries. */
export class RejectedEntries {
  count = 0;
  /** Why the first one was rejected. */
  reason?: string;
  /** Counts by invalid field, named as in the protocol. */
  readonly byField = new Map<string, number>();
  /** How many optional members were left out, by name: they do not count as entries. */
  readonly members = new Map<string, number>();

  add(reason: string, entries = 1): void {
    this.count += entries;
    this.reason ??= reason;
    const field = rejectedField(reason);
    this.byField.set(field, (this.byField.get(field) ?? 0) + entries);
  }

  addMembers(names: readonly string[]): void {
    for (const name of names) this.members.set(name, (this.members.get(name) ?? 0) + 1);
  }

  /** @throws InvalidRecordError when entries were rejected and none was accepted */
  requireAccepted(accepted: number): void {
    if (accepted === 0 && this.reason !== undefined) throw new InvalidRecordError(this.reason);
  }
}

/** The field at the beginning of a reason, without line numbers and indexes: `requests[].method`. */
export function rejectedField(reason: string): string {
  const [field = ''] = reason.replace(/^line \d+: /, '').split(':', 1);
  return field.replaceAll(/\[\d+\]/g, '[]');
}

/** Parses one entry of a list; the reader reads its optional members. Throws an InvalidRecordError for an invalid entry. */
export type EntryDecoder<T> = (value: unknown, name: string, reader: LenientReader) => T;

/**
 * The valid entries of a list; invalid ones are added to `rejected` and do not affect the others. A
 * list that is missing or null is empty.
 *
 * @throws InvalidRecordError if it is not a list
 */
export function parseList<T>(
  value: unknown,
  name: string,
  decode: EntryDecoder<T>,
  rejected: RejectedEntries,
): T[] {
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
  }
  return accepted;
}
