import { type Check, Rejection } from '../../ingestion/checks.js';
import type { Leftover } from '../message.js';

/** Items of a list that passed their check, and what is left over. */
export interface Sifted<T> {
  taken: T[];
  leftover: Leftover | null;
}

/**
 * Reads a list item by item: one that fails is left out, so that it does not cost the others. A list that is missing
 * or null is empty.
 *
 * @throws Rejection when it is no list, or not one of its items can be taken
 */
export function sift<T>(value: unknown, name: string, check: Check<T>): Sifted<T> {
  if (value === undefined || value === null) return { taken: [], leftover: null };
  if (!Array.isArray(value)) throw new Rejection(`${name}: must be an array`);
  const taken: T[] = [];
  const reasons: string[] = [];
  for (const [index, item] of value.entries()) {
    try {
      taken.push(check(item, `${name}[${index}]`));
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      reasons.push(error.message);
    }
  }
  const [reason] = reasons;
  if (reason === undefined) return { taken, leftover: null };
  if (taken.length === 0) throw new Rejection(reason);
  return { taken, leftover: { rejected: reasons.length, reason } };
}

/** What is left over of two lists together. */
export function together(one: Leftover | null, other: Leftover | null): Leftover | null {
  if (!one || !other) return one ?? other;
  return { rejected: one.rejected + other.rejected, reason: one.reason };
}
