import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { createProgram } from '../../src/entry/cli/program.js';
import { runProgram } from '../../src/entry/cli/run-program.js';
import type { Ended } from './product-process.js';
import { RUN_VARIABLE } from './secrets/global-setup.js';
import { captureOutput, findKeys, forbidInOutput } from './secrets/run.js';

/**
 * Runs a command in this process, with only the variables of the test. In a process of its own, which
 * `ProductProcess` gives it, it takes a second of processor time more, to load the product and the engine.
 * Only one runs at a time.
 */
export async function runCommand(words: string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const startedAt = performance.now();
  const before = { ...process.env };
  // Otherwise the lines go to standard error past its stream.
  const audit = join(tmpdir(), `audit-${randomUUID()}.log`);
  const kept = { PATH: before.PATH, [RUN_VARIABLE]: before[RUN_VARIABLE] };
  replaceVariables({ ...kept, AUDIT_LOG: audit, ...env });
  const [out, err] = [captureStream(process.stdout), captureStream(process.stderr)];
  let code: number;
  try {
    await runProgram(withoutExit(createProgram()), words);
    code = Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    code = error.exitCode;
  } finally {
    process.exitCode = undefined;
    replaceVariables(before);
    out.restore();
    err.restore();
  }
  const audited = existsSync(audit) ? readFileSync(audit, 'utf8') : '';
  rmSync(audit, { force: true });
  keep(out.text, audited + err.text);
  return {
    code,
    out: toLines(out.text),
    err: toLines(audited + err.text),
    ms: performance.now() - startedAt,
  };
}

/** Commander would end this process. */
function withoutExit(command: Command): Command {
  for (const member of command.commands) withoutExit(member);
  return command.exitOverride();
}

function replaceVariables(variables: NodeJS.ProcessEnv) {
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) process.env[name] = value;
}

/** Keeps what is written to a stream, and does not show it. */
function captureStream(stream: NodeJS.WriteStream): { text: string; restore: () => void } {
  const spy = jest.spyOn(stream, 'write').mockImplementation((piece) => {
    captured.text += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
    return true;
  });
  const captured = {
    text: '',
    restore: () => {
      spy.mockRestore();
    },
  };
  return captured;
}

/** Keeps the output for the search for secrets, as that of a process. */
function keep(out: string, err: string) {
  captureOutput('command', err);
  for (const line of toLines(out)) {
    const keys = findKeys(line);
    if (keys.length > 0) forbidInOutput(...keys);
    else captureOutput('command', `${line}\n`);
  }
}

const toLines = (text: string) =>
  text
    .split('\n')
    .slice(0, text.endsWith('\n') ? -1 : undefined)
    .filter(Boolean);
