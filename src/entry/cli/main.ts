import { CommanderError } from 'commander';
import { loadEnvFile } from '../bootstrap/env-file.js';
import { formatStartupError } from '../bootstrap/run.js';
import { isOutputFailure, printMessage, watchOutput } from './output.js';
import { createProgram } from './program.js';
import { StoppedError } from './stop-signal.js';

watchOutput();
try {
  loadEnvFile();
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) throw error;
  if (!isOutputFailure(error)) {
    const { line, exitCode } = formatStartupError(error);
    printMessage(error instanceof StoppedError ? line : `error: ${line}`);
    process.exitCode = error instanceof StoppedError ? error.exitCode : exitCode;
  }
}
