import { existsSync, mkdirSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the directory of a run of Jest; set before its workers start. */
export const RUN_VARIABLE = 'REQUEST_ANALYTICS_TEST_RUN';

/** A file system in memory (Linux): the engine writes thousands of small files. */
const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 4 * 2 ** 30;

/**
 * Makes the directory of the run: for the output of the product, for secrets, and for all temporary files.
 */
export default function setUp(): void {
  const run = mkdtempSync(join(chooseBase(), 'request-analytics-run-'));
  process.env[RUN_VARIABLE] = run;
  process.env.TMPDIR = join(run, 'tmp');
  mkdirSync(process.env.TMPDIR);
}

/** `TMPDIR` if it is set, else memory if there is enough. */
function chooseBase(): string {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize < ENOUGH_BYTES ? tmpdir() : MEMORY;
}
