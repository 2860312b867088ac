/**
 * Searches all that the product said in a run of Jest for all the secrets that it was given: exit code 1 when
 * one is found. The outputs are kept then.
 */
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RUN_VARIABLE } from './global-setup.js';
import { OUTPUTS, SECRETS } from './run.js';
import { SecretScanner } from './scanner.js';

const SHOWN = 20;

function search(run: string, outputs: readonly string[]): string[] {
  const secrets = listFiles(run, SECRETS).flatMap((file) =>
    readFileSync(file, 'utf8').split('\n').filter(Boolean),
  );
  const scanner = new SecretScanner(secrets.map((line) => JSON.parse(line) as string));
  let bytes = 0;
  const findings = outputs.flatMap((file) => {
    const output = readFileSync(file, 'utf8');
    bytes += output.length;
    return scanner.find(output).map(({ line, kind, text }) => `${file}:${line}: ${kind}: ${text}`);
  });
  process.stderr.write(
    `Secrets: ${findings.length} found in ${outputs.length} outputs of ${bytes} bytes, of ${scanner.size} looked for.\n`,
  );
  return findings;
}

function listFiles(run: string, directory: string): string[] {
  const path = join(run, directory);
  return existsSync(path) ? readdirSync(path).map((name) => join(path, name)) : [];
}

const run = process.env[RUN_VARIABLE] ?? '';
const outputs = listFiles(run, OUTPUTS);
const findings = outputs.length > 0 ? search(run, outputs) : [];
for (const finding of findings.slice(0, SHOWN)) process.stderr.write(`${finding}\n`);
if (findings.length > 0) process.exitCode = 1;
else rmSync(run, { recursive: true, force: true });
