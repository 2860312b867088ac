import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { readEndedChildrenSeconds, readMemory } from './machine.js';
import { ROOT } from './workspace.js';

const LOOK_EVERY_MS = 20;

/** What a command printed, and what it took from the start of its process to its end. */
export interface Ran {
  output: string;
  ms: number;
  /** User and system time of all its threads. */
  processorSeconds: number;
  peakMb: number;
}

/** Of a command that the benchmark runs. */
export interface CommandOptions {
  env?: NodeJS.ProcessEnv;
  /** Its standard error is appended here. */
  log: string;
  /** Kills it with SIGKILL after this number of milliseconds, or as soon as it prints something. */
  kill?: number | 'at its answer';
}

/**
 * Runs a command to its end. No other child process may end meanwhile, because its processor time would be
 * added.
 *
 * @throws Error if it fails, unless it was to be killed
 */
export async function runCommand(
  program: string,
  args: readonly string[],
  { env, log, kill }: CommandOptions,
): Promise<Ran> {
  const errors = openSync(log, 'a');
  const [startedAt, before] = [performance.now(), readEndedChildrenSeconds()];
  const command = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', errors],
  });
  const killer = typeof kill === 'number' ? setTimeout(() => command.kill('SIGKILL'), kill) : undefined;
  let output = '';
  command.stdout?.on('data', (bytes: Buffer) => {
    output += bytes.toString();
    if (kill === 'at its answer') command.kill('SIGKILL');
  });
  let peakMb = 0;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, readMemory(command.pid ?? 0).peakMb || 0);
  }, LOOK_EVERY_MS);
  const code = await new Promise((ok, no) => command.once('close', ok).once('error', no));
  clearInterval(timer);
  clearTimeout(killer);
  if (code !== 0 && kill === undefined) throw new Error(`${program} ${args[0]} failed; see ${log}`);
  const processorSeconds = readEndedChildrenSeconds() - before;
  return { output, ms: performance.now() - startedAt, processorSeconds, peakMb };
}

/** Runs the product's command line over a store. */
export function runCli(dataDir: string, log: string, args: readonly string[], kill?: CommandOptions['kill']) {
  const options = { env: { DATA_DIR: dataDir }, log, ...(kill !== undefined && { kill }) };
  return runCommand(process.execPath, [join(ROOT, 'dist/cli.cjs'), ...args], options);
}

/** Makes a store with a team and the app 1. */
export async function createApp(dataDir: string, log: string): Promise<void> {
  await runCli(dataDir, log, ['team', 'create', '--name', 'Acme']);
  await runCli(dataDir, log, ['app', 'create', '--team', '1', '--name', 'Shop']);
}

/** Imports a file whose lines are all new to the app 1. */
export async function importFile(file: string, lines: number, dataDir: string, log: string): Promise<Ran> {
  const ran = await runCli(dataDir, log, ['import', file, '--app', '1']);
  const { imported } = JSON.parse(ran.output) as { imported: number };
  if (imported !== lines) throw new Error(`Of ${lines} lines ${imported} were imported; see ${log}`);
  return ran;
}
