import { randomFrom } from '../resilience/crash.js';

/** Draws from one seed: the same seed draws the same things in the same order. */
export class Random {
  private readonly next: () => number;

  constructor(seed: number) {
    this.next = randomFrom(seed);
  }

  /** A number from 0 to 1. */
  share(): number {
    return this.next();
  }

  /** An integer, both bounds included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.integer(0, items.length - 1)]!;
  }

  /** Up to `limit` items, each at most once, in random order. */
  some<T>(items: readonly T[], limit: number): T[] {
    return this.shuffled(items).slice(0, limit);
  }

  shuffled<T>(items: readonly T[]): T[] {
    const all = [...items];
    for (let last = all.length - 1; last > 0; last -= 1) {
      const other = this.integer(0, last);
      [all[last], all[other]] = [all[other]!, all[last]!];
    }
    return all;
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => this.integer(0, 15).toString(16)).join('');
  }

  uuid(): string {
    const groups = [
      this.hex(8),
      this.hex(4),
      `4${this.hex(3)}`,
      `${this.pick(['8', '9', 'a', 'b'])}${this.hex(3)}`,
    ];
    return [...groups, this.hex(12)].join('-');
  }

  text(): string {
    const pieces = ['a', 'Z', '7', ' ', '"', '\\', '\n', 'é', '💥', '{}', "'", '%', '<b>', '\u2028', 'null'];
    return Array.from({ length: this.integer(0, 8) }, () => this.pick(pieces)).join('');
  }
}
