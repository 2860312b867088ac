import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { flush, writeFlushed } from './flush.js';
import { giveToOwner } from './owner.js';
import { discardPartList } from './part-list.js';

/** In the data directory; a restored store stays here until it is complete. */
const RESTORE = '.restore';
const NEW = 'new';
const OLD = 'old';
/** Says which step of the exchange is next. */
const STEP = 'step';
const [OUT, IN] = ['out', 'in'];

/**
 * The engine restores a backup into this path inside the data directory, so that the renames are on one file
 * system.
 */
export function getRestorePath(directory: string): string {
  return join(directory, RESTORE, NEW);
}

/**
 * Whether an exchange was interrupted. The directory then has no complete store, until the next open finishes
 * the exchange.
 */
export function isExchanging(directory: string): boolean {
  return existsSync(join(directory, RESTORE, STEP));
}

/** Whether the directory has a store, including an empty one. */
export function hasStore(directory: string): boolean {
  if (isExchanging(directory)) return true;
  const metadata = join(directory, 'metadata', 'default');
  return existsSync(metadata) && readdirSync(metadata).length > 0;
}

/** Removes an unfinished restore whose exchange has not begun. */
export function discardRestore(directory: string): void {
  if (!isExchanging(directory)) rmSync(join(directory, RESTORE), { recursive: true, force: true });
}

/**
 * Replaces the current store with the restored one. If the process is killed, `finishRestore` does the rest.
 */
export function exchangeRestored(directory: string): void {
  const restore = join(directory, RESTORE);
  // It names the parts of the current store; the restored one may have none.
  discardPartList(directory);
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
  // Removed last, so that a repetition finds the directory.
  for (const name of readdirSync(from)) renameSync(join(from, name), join(directory, name));
  flush(directory);
  rmSync(join(restore, OLD), { recursive: true, force: true });
  rmSync(step);
  discardRestore(directory);
}
