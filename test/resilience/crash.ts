import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { captureProcess } from '../setup/secrets/run.js';

const CLI = join(process.cwd(), 'dist/cli.js');

/** How a command ended. */
export interface Ending {
  /** Null: it was killed. */
  code: number | null;
  /** All that it said. */
  said: string;
  /** Milliseconds from its start. */
  ms: number;
}

/** A data directory that commands are run on, and killed on. */
export class CrashSite {
  private child?: ChildProcess;
  readonly directory = mkdtempSync(join(tmpdir(), 'crash-'));

  private readonly endWithProcess = () => this.child?.kill('SIGKILL');

  /** @param from the data directory that it begins as; empty when left out. */
  constructor(from?: string) {
    process.once('exit', this.endWithProcess);
    if (from !== undefined) cpSync(from, this.directory, { recursive: true });
  }

  get env(): NodeJS.ProcessEnv {
    return { DATA_DIR: this.directory, EMBEDDED_SESSIONS: '2' };
  }

  /**
   * Runs a built command.
   *
   * @param killAfterMs when it is ended with SIGKILL, unless it has ended by then.
   */
  async run(args: readonly string[], killAfterMs = Infinity): Promise<Ending> {
    const startedAt = performance.now();
    const child = spawn(process.execPath, [CLI, ...args], {
      env: { PATH: process.env.PATH, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    captureProcess('crash', child);
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const kill = Number.isFinite(killAfterMs)
      ? setTimeout(() => child.kill('SIGKILL'), killAfterMs)
      : undefined;
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(kill);
    return { code, said, ms: performance.now() - startedAt };
  }

  /** @throws what it said, where it did not end well. */
  async complete(args: readonly string[]): Promise<number> {
    const { code, said, ms } = await this.run(args);
    if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${said}`);
    return ms;
  }

  remove(): void {
    process.off('exit', this.endWithProcess);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/**
 * When to kill a command, in milliseconds from its start: at random, but not before it has begun to write, nor after its
 * end, both of which are learnt on the way.
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
export const KILLS = Number(process.env.CRASH_KILLS ?? 12);
