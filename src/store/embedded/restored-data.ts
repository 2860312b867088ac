import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { flush, writeFlushed } from './flush.js';
import { giveToOwner } from './owner.js';

/** In the data directory; what is restored waits here until it is whole. */
const RESTORE = '.restore';
const NEW = 'new';
const OLD = 'old';
/** Which step of the exchange is to be done. */
const STEP = 'step';
const [OUT, IN] = ['out', 'in'];

/**
 * Where the engine restores a backup to, inside of the data directory: its renames are then on one file
 * system.
 */
export function getRestorePath(directory: string): string {
  return join(directory, RESTORE, NEW);
}

/**
 * Whether an exchange was interrupted. What is in the directory is no whole store then, and the next open
 * makes it one.
 */
export function isExchanging(directory: string): boolean {
  return existsSync(join(directory, RESTORE, STEP));
}

/** Whether there is a store in the directory, also an empty one. */
export function hasStore(directory: string): boolean {
  if (isExchanging(directory)) return true;
  const metadata = join(directory, 'metadata', 'default');
  return existsSync(metadata) && readdirSync(metadata).length > 0;
}

/** Removes what a restore left that did not come to the exchange. */
export function discardRestore(directory: string): void {
  if (!isExchanging(directory)) rmSync(join(directory, RESTORE), { recursive: true, force: true });
}

/**
 * Puts the restored store in the place of the one that is there. A process that is killed here leaves the
 * rest to `finishRestore`.
 */
export function exchangeRestored(directory: string): void {
  const restore = join(directory, RESTORE);
  mkdirSync(join(restore, OLD), { recursive: true });
  giveToOwner(restore, directory);
  writeFlushed(join(restore, STEP), OUT);
  finishRestore(directory);
}

/** Finishes an exchange that was interrupted, in a closed data directory. Each step can be repeated. */
export function finishRestore(directory: string): void {
  if (!isExchanging(directory)) return;
  const restore = join(directory, RESTORE);
  const step = join(restore, STEP);
  const from = join(restore, NEW);
  if (readFileSync(step, 'utf8') === OUT) {
    for (const name of readdirSync(from))
      if (existsSync(join(directory, name))) renameSync(join(directory, name), join(restore, OLD, name));
    flush(directory);
    writeFlushed(step, IN);
  }
  // The directory is removed last, so that a repetition finds it.
  for (const name of readdirSync(from)) renameSync(join(from, name), join(directory, name));
  flush(directory);
  rmSync(join(restore, OLD), { recursive: true, force: true });
  rmSync(step);
  discardRestore(directory);
}
