import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isCovered, listTableDirectories, parseRange } from './deduplication-log.js';
import { writeFlushed } from './flush.js';

/** In the data directory, while no process has it open: the parts of its tables, by table. */
const LIST = 'parts.json';
/** Begins the name of a detached part, as the engine forms it; the name of the missing part follows. */
export const MISSING_PART_MARK = 'broken_part-was-missing-';

type Parts = Record<string, string[]>;

/**
 * Writes down which parts a data directory has whose engine was closed. A list that cannot be written, as on
 * a full disk, is left out.
 */
export function recordParts(directory: string): void {
  try {
    writeFlushed(join(directory, LIST), JSON.stringify(findParts(directory)));
  } catch {
    discardPartList(directory);
  }
}

/**
 * Removes the list. An open engine removes parts (of expired, erased and merged rows), so after a kill an old
 * list would name parts that nobody misses.
 */
export function discardPartList(directory: string): void {
  for (const name of [LIST, `${LIST}.new`]) rmSync(join(directory, name), { force: true });
}

/**
 * Marks the parts that were there when the data directory was closed and are gone, before it is opened: the
 * engine opens a table without them and says nothing. A part that was moved to `detached/` by hand is not
 * gone. After a kill there is no list, and nothing is marked.
 */
export function markMissingParts(directory: string): void {
  for (const [table, names] of Object.entries(readList(directory))) {
    // A table without its directory is marked as a whole.
    if (!existsSync(join(directory, table))) continue;
    const ranges = listParts(join(directory, table)).flatMap((name) => parseRange(name) ?? []);
    const detached = join(directory, table, 'detached');
    for (const name of names)
      if (!isCovered(ranges, name) && !existsSync(join(detached, name)))
        mkdirSync(join(detached, `${MISSING_PART_MARK}${name}`), { recursive: true });
  }
  discardPartList(directory);
}

function findParts(directory: string): Parts {
  return Object.fromEntries(
    listTableDirectories(directory).map((table) => [table, listParts(join(directory, table))]),
  );
}

/** Without those that were being written or removed. */
function listParts(table: string): string[] {
  return readdirSync(table).filter(
    (name) => parseRange(name) !== undefined && !/^(?:tmp|delete_tmp)/.test(name),
  );
}

function readList(directory: string): Parts {
  try {
    return JSON.parse(readFileSync(join(directory, LIST), 'utf8')) as Parts;
  } catch {
    return {};
  }
}
