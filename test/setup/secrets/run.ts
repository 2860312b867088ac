import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpResponse } from '../conforms.js';
import { RUN_VARIABLE } from './global-setup.js';

export const OUTPUTS = 'outputs';
export const SECRETS = 'secrets';

const KEYS = /\b(?:[A-Za-z0-9]{7}\.[A-Za-z0-9]{32}|apt_[A-Za-z0-9]{24})\b/g;

/**
 * Keeps what the product said, to be searched for secrets when the run is over: see `search-run.ts`. A test
 * that starts the product hands over all of its output here.
 *
 * @param source what said it: one word.
 */
export function captureOutput(source: string, text: string | Buffer): void {
  append(OUTPUTS, `${source}-${process.pid}`, text);
}

/** Keeps all that a process says through pipes; `shown`: what it says on standard error is shown as well. */
export function captureProcess(
  source: string,
  { stdout, stderr }: ChildProcess,
  { shown = false } = {},
): void {
  for (const stream of [stdout, stderr])
    stream?.on('data', (chunk: Buffer) => {
      captureOutput(source, chunk);
      if (shown && stream === stderr) process.stderr.write(chunk);
    });
}

/** Keeps what a response says that is not the data that was asked for. */
export function captureResponse({ status, headers, text }: HttpResponse): void {
  const isData = status === 200 && String(headers['content-type']).startsWith('application/json');
  captureOutput('answers', `${status} ${JSON.stringify(headers)} ${isData ? '' : text}\n`);
}

/** Says what must be in no output of this run; a key stands for its hash, too. */
export function forbidInOutput(...secrets: readonly string[]): void {
  const all = secrets.flatMap((secret) => [secret, ...findKeys(secret).map(hashKey)]);
  append(SECRETS, String(process.pid), all.map((secret) => `${JSON.stringify(secret)}\n`).join(''));
}

/** The API keys and write tokens in a text. */
export function findKeys(text: string): string[] {
  return text.match(KEYS) ?? [];
}

function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function append(directory: string, name: string, text: string | Buffer): void {
  const run = process.env[RUN_VARIABLE];
  if (run === undefined) return;
  mkdirSync(join(run, directory), { recursive: true });
  appendFileSync(join(run, directory, name), text);
}
