import { type Check, Rejection } from '../../ingestion/checks.js';

/** Entries of a list that are looked at: an application has some hundred endpoints and consumers a minute. */
const MAX_ENTRIES = 20_000;

/** Entries of a message that were rejected while the rest of it was accepted. */
export class RejectedEntries {
  count = 0;
  /** Why the first one was rejected. */
  reason?: string;
  /** How many by the field that was wrong; the fields' names are the protocol's. */
  readonly byField = new Map<string, number>();

  add(reason: string, entries = 1): void {
    this.count += entries;
    this.reason ??= reason;
    const field = rejectedField(reason);
    this.byField.set(field, (this.byField.get(field) ?? 0) + entries);
  }
}

/** The field that a reason begins with, without line numbers and indexes: `requests[].method`. */
export function rejectedField(reason: string): string {
  const [field = ''] = reason.replace(/^line \d+: /, '').split(':', 1);
  return field.replaceAll(/\[\d+\]/g, '[]');
}

/**
 * The entries of a list that can be decoded; the others are added to `rejected`, so that one does not cost the others. A
 * list that is missing or null is empty.
 *
 * @throws Rejection when it is no list, or none of its entries can be decoded
 */
export function parseList<T>(value: unknown, name: string, decode: Check<T>, rejected: RejectedEntries): T[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Rejection(`${name}: must be an array`);
  const accepted: T[] = [];
  for (const [index, item] of value.entries()) {
    if (index === MAX_ENTRIES) {
      rejected.add(`${name}: more than ${MAX_ENTRIES} entries`, value.length - MAX_ENTRIES);
      break;
    }
    try {
      accepted.push(decode(item, `${name}[${index}]`));
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      rejected.add(error.message);
    }
  }
  if (accepted.length === 0 && value.length > 0) throw new Rejection(rejected.reason ?? '');
  return accepted;
}
