import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { CommandOptions, Ran } from '../command.js';
import { readEndedChildrenSeconds, readMemory } from '../machine.js';

const LOOK_EVERY_MS = 20;
/** Lines of a body. */
const LINES = 20_000;

/** A server that runs. */
export interface Server {
  readonly isKilled: boolean;
  /** Ends it with SIGKILL. */
  kill(): void;
}

/**
 * Starts a server, uses it, and stops it with SIGTERM unless it was killed. What it took, from the start of
 * its process to its end.
 */
export async function runServer(
  program: string,
  args: readonly string[],
  { env, log, readyUrl }: Omit<CommandOptions, 'kill'> & { readyUrl: string },
  use: (server: Server) => Promise<string>,
): Promise<Ran> {
  const file = openSync(log, 'a');
  const before = readEndedChildrenSeconds();
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', file, file] });
  const gone = new Promise((ok, no) => child.once('exit', ok).once('error', no));
  const server = {
    isKilled: false,
    kill: () => {
      server.isKilled = true;
      child.kill('SIGKILL');
    },
  };
  process.once('exit', server.kill);
  try {
    while (!(await isReady(readyUrl))) {
      if (child.exitCode !== null) throw new Error(`${program} did not start; see ${log}`);
      await wait(LOOK_EVERY_MS);
    }
    const startedAt = performance.now();
    const output = await use(server);
    const ms = performance.now() - startedAt;
    const { peakMb } = readMemory(child.pid ?? 0);
    if (!server.isKilled) child.kill('SIGTERM');
    await gone;
    return { output, ms, peakMb, processorSeconds: readEndedChildrenSeconds() - before };
  } finally {
    process.off('exit', server.kill);
    server.kill();
  }
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined);
  await response?.text();
  return response?.ok ?? false;
}

/** Sends the lines of a text, one body after another; the last response. */
export async function sendFile(
  url: string,
  headers: Record<string, string>,
  text: string,
  server: Server,
  kill: CommandOptions['kill'],
): Promise<string> {
  const lines = text.trimEnd().split('\n');
  const killer =
    typeof kill === 'number'
      ? setTimeout(() => {
          server.kill();
        }, kill)
      : undefined;
  let answer = '';
  try {
    for (let from = 0; from < lines.length && !server.isKilled; from += LINES) {
      const body = `${lines.slice(from, from + LINES).join('\n')}\n`;
      const response = await fetch(url, { method: 'POST', headers, body });
      answer = await response.text();
      if (!response.ok) throw new Error(`${response.status} ${answer}`);
    }
    if (kill === 'at its answer') server.kill();
  } catch (error) {
    if (!server.isKilled) throw error;
  } finally {
    clearTimeout(killer);
  }
  return answer;
}
