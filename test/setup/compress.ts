import { execFileSync, spawnSync } from 'node:child_process';

const PROGRAMS = ['zstd'] as const;
export type Program = (typeof PROGRAMS)[number];

const MISSING: readonly Program[] = PROGRAMS.filter(
  (name) => spawnSync(name, ['--help']).error !== undefined,
);

if (process.env.CI && MISSING.length > 0)
  throw new Error(`Install ${MISSING.join(' and ')}: their tests must not be skipped`);

/** Whether this machine has the program; without it, its tests are skipped. */
export function hasProgram(name: Program): boolean {
  return !MISSING.includes(name);
}

/** What the program makes of the bytes. */
export function pack(program: Program, input: Buffer | string, ...options: string[]): Buffer {
  return execFileSync(program, ['-c', ...options], { input, maxBuffer: 2 ** 28 });
}
