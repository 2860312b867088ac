import { type Command, CommanderError } from 'commander';
import { loadEnvFile } from '../bootstrap/env-file.js';
import { formatStartupError } from '../bootstrap/run.js';
import { isOutputFailure, printMessage } from './output.js';
import { StoppedError } from './stop-signal.js';

/** Runs the command line. A failure becomes a message and the exit code. */
export async function runProgram(program: Command, words = process.argv.slice(2)): Promise<void> {
  try {
    loadEnvFile();
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    if (!isOutputFailure(error)) {
      const { line, exitCode } = formatStartupError(error);
      printMessage(error instanceof StoppedError ? line : `error: ${line}`);
      process.exitCode = error instanceof StoppedError ? error.exitCode : exitCode;
    }
  }
}
