/** At least one item, so that a pick always returns an item. */
export type Choices<T> = readonly [T, ...T[]];

/** Rounds after which no trace of the seed is left in the numbers. */
const WARM_UP = 16;

/**
 * Numbers that look random and follow from the seed alone (the small fast counter generator, sfc32). Its 128
 * bits of state keep the sequences of different seeds apart; with 32 bits they would run into each other
 * within one sample.
 */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private counter = 1;

  /** @param seed and stream: whole numbers; each pair gives a sequence of its own. */
  constructor(seed: number, stream = 0) {
    this.a = seed | 0;
    this.b = Math.floor(seed / 2 ** 32) | 0;
    this.c = stream | 0;
    for (let round = 0; round < WARM_UP; round++) this.bits();
  }

  /** From 0, inclusive, to 1, exclusive. */
  fraction(): number {
    return this.bits() / 2 ** 32;
  }

  /** A whole number, both bounds included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(choices: Choices<T>): T {
    return choices[Math.floor(this.fraction() * choices.length)] ?? choices[0];
  }

  /**
   * Log-normal: mostly near the median, seldom many times as large. Latencies and sizes have this
   * distribution.
   */
  logNormal(median: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.fraction()));
    return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * this.fraction()));
  }

  /** How many independent events fall into a span in which `mean` are expected; for small means. */
  poisson(mean: number): number {
    const limit = Math.exp(-mean);
    let count = 0;
    for (let product = this.fraction(); product > limit; product *= this.fraction()) count++;
    return count;
  }

  /** Lower-case hex digits. */
  hex(digits: number): string {
    let text = '';
    while (text.length < digits) text += this.bits().toString(16).padStart(8, '0');
    return text.slice(0, digits);
  }

  /** In the form of a version 4 UUID (RFC 9562). */
  uuid(): string {
    const hex = this.hex(32);
    const variant = '89ab'.charAt(parseInt(hex.charAt(16), 16) % 4);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  private bits(): number {
    const sum = (this.a + this.b + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

/** Choices of different likelihood. */
export class Weighted<T> {
  private readonly steps: readonly { upTo: number; value: T }[];
  private readonly last: { upTo: number; value: T };

  /** @param weights at least one; likelihoods in proportion to each other */
  constructor(weights: readonly (readonly [value: T, weight: number])[]) {
    let upTo = 0;
    this.steps = weights.map(([value, weight]) => ({ upTo: (upTo += weight), value }));
    const last = this.steps.at(-1);
    if (!last) throw new RangeError('There is nothing to choose from');
    this.last = last;
  }

  pick(random: Random): T {
    const at = random.fraction() * this.last.upTo;
    return (this.steps.find(({ upTo }) => at < upTo) ?? this.last).value;
  }
}
