import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, ProductProcess } from '../setup/product-process.js';
import { copyStore } from '../setup/schema.js';

/** A data directory that commands are run on, and killed on. */
export class CrashSite {
  readonly directory = mkdtempSync(join(tmpdir(), 'crash-'));

  /** @param from the data directory that it begins as; empty when left out. */
  constructor(from?: string) {
    if (from !== undefined) copyStore(from, this.directory);
  }

  get env(): NodeJS.ProcessEnv {
    return { DATA_DIR: this.directory, EMBEDDED_SESSIONS: '2' };
  }

  run(args: readonly string[], killAfterMs?: number): Promise<Ended> {
    return ProductProcess.run(args, this.env, { killAfterMs });
  }

  /** @returns how long it took, in milliseconds; throws its output if it failed */
  async complete(args: readonly string[]): Promise<number> {
    const { code, out, err, ms } = await this.run(args);
    if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${[...out, ...err].join('\n')}`);
    return ms;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/**
 * When to kill a command, in milliseconds from its start: at random, but not before it has begun to write,
 * nor after its end. Both times are learnt on the way.
 */
export class Moments {
  private from = 0;

  constructor(
    private to: number,
    private readonly random: () => number,
  ) {}

  next(): number {
    const from = Math.min(this.from, this.to * 0.9);
    return from + (this.to - from) * this.random();
  }

  tooEarly(ms: number) {
    this.from = Math.max(this.from, Math.min(ms, this.to) * 0.9);
  }

  tooLate(ms: number) {
    // The process takes a moment to end when all is written.
    this.to = Math.min(this.to, ms * 0.95);
  }
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `CRASH_SEED`, to repeat what was seen, or a new one. */
export const SEED = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** How often a process is killed. */
export const KILLS = Number(process.env.CRASH_KILLS ?? 3);
