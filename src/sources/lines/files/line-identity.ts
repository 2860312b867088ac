import { hash } from 'node:crypto';
import { toRequestUuid } from '../../../shared/hash-uuid.js';

/**
 * An equal line is recognized if at most this many different lines lie between. Equal lines have equal times,
 * so they are close to each other in a log that is ordered by time.
 */
const REMEMBERED_LINES = 65_536;
/** A number of hex digits that fits exactly into a JavaScript number. */
const KEY_DIGITS = 13;
const SOURCE = /^[A-Za-z0-9._/:-]{0,64}$/;
export const SOURCE_RULE = 'must be 1 to 64 letters, digits, dots, underscores, hyphens, slashes or colons';

/** Whether a text is a valid name of a source; empty for no name. */
export function isSource(text: string): boolean {
  return SOURCE.test(text);
}

/**
 * The identity of each line of an import, for requests without a UUID: a UUID made of its time, environment,
 * source and text, and how often the same text occurred before. The line number is not part of it, so that a
 * log whose first lines were deleted keeps its identities.
 *
 * Memory is bounded. If more than `REMEMBERED_LINES` other lines lie between two equal lines, the second may
 * get the identity of the first.
 */
export class LineIdentities {
  private recent: Occurrences;
  private older: Occurrences;

  /**
   * @param source name of the lines' source, such as one of several nodes that may log equal lines
   * @param remembered see `REMEMBERED_LINES`; a power of two
   */
  constructor(
    private readonly source: string,
    private readonly remembered = REMEMBERED_LINES,
  ) {
    this.recent = new Occurrences(2 * remembered);
    this.older = new Occurrences(2 * remembered);
  }

  /**
   * The identity of the next line. Equal lines must be passed in the order of their source.
   *
   * @param digest of `digestLine`
   */
  next(env: string, text: string, timestamp: number, digest = digestLine(env, this.source, text)): string {
    const occurrence = this.count(parseInt(digest.slice(0, KEY_DIGITS), 16));
    const hex = occurrence === 0 ? digest : hash('sha256', `${digest}\n${occurrence}`);
    return toRequestUuid(hex, timestamp);
  }

  /** The previous count of the key. */
  private count(key: number): number {
    const slot = this.recent.findSlot(key);
    const before = this.recent.countAt(slot) || this.older.countAt(this.older.findSlot(key));
    this.recent.put(slot, key, before + 1);
    if (this.recent.size === this.remembered) {
      this.older.clear();
      [this.recent, this.older] = [this.older, this.recent];
    }
    return before;
  }
}

export function digestLine(env: string, source: string, text: string): string {
  // Neither an environment nor a source nor a line contains a line feed.
  return hash('sha256', `${env}\n${source}\n${text}`);
}

/**
 * Counts by key in one array of pairs (open addressing). For every imported line, a `Map` took two to three
 * times as long and several times the memory.
 */
class Occurrences {
  size = 0;
  private readonly pairs: Float64Array;

  /** @param slots a power of two, greater than the number of keys */
  constructor(slots: number) {
    this.pairs = new Float64Array(2 * slots);
  }

  /** The slot of the key and its count, or a free slot for the key. */
  findSlot(key: number): number {
    const { pairs } = this;
    const last = pairs.length - 2;
    let slot = (key << 1) & last;
    while (pairs[slot + 1] !== 0 && pairs[slot] !== key) slot = (slot + 2) & last;
    return slot;
  }

  countAt(slot: number): number {
    return this.pairs[slot + 1] ?? 0;
  }

  put(slot: number, key: number, count: number): void {
    if (this.countAt(slot) === 0) this.size += 1;
    this.pairs[slot] = key;
    this.pairs[slot + 1] = count;
  }

  clear(): void {
    this.pairs.fill(0);
    this.size = 0;
  }
}
