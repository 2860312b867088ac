import { appendFileSync, existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const LOG = /^deduplication_log_(\d+)\.txt$/;
/** Operation, part name and block ID. */
const RECORD = /^([12])\t(\S+)\t(\S+)$/;
const [ADDED, DROPPED] = ['1', '2'];
/** A part's name consists of its partition, its first and last block, and its merge level. */
const PART = /^(.+)_(\d+)_(\d+)_\d+(?:_\d+)?$/;

/**
 * Repairs the deduplication logs of a closed data directory: drops entries whose part never reached the disk.
 *
 * The engine logs the ID of a block and then renames the block's part. A process that is killed between
 * the two leaves an entry without a part: a retry of the block would count as a duplicate and be lost to that
 * table. The repair must run before the engine gives the part's number to another block. It appends the
 * engine's own entry for a dropped part.
 *
 * @returns the number of dropped entries
 */
export function repairDeduplicationLogs(directory: string): number {
  const dropped = listTableDirectories(directory).map((table) => repairTable(join(directory, table)));
  return dropped.reduce((sum, count) => sum + count, 0);
}

/** The directories of tables, below the data directory. */
export function listTableDirectories(directory: string): string[] {
  const store = join(directory, 'store');
  if (!existsSync(store)) return [];
  return readdirSync(store).flatMap((group) =>
    readdirSync(join(store, group)).map((table) => join('store', group, table)),
  );
}

function repairTable(table: string): number {
  const logs = join(table, 'deduplication_logs');
  const files = existsSync(logs) ? readdirSync(logs).filter((name) => LOG.test(name)) : [];
  files.sort((a, b) => parseLogNumber(a) - parseLogNumber(b));
  const last = files.at(-1);
  if (last === undefined) return 0;
  const blocks = replayLogs(files.map((file) => readFileSync(join(logs, file), 'utf8')));
  const parts = readdirSync(table).flatMap((name) => parseRange(name) ?? []);
  const missing = [...blocks].filter(([, part]) => !isCovered(parts, part));
  const records = missing.map(([block, part]) => `${DROPPED}\t${part}\t${block}\n`);
  if (records.length > 0) appendFileSync(join(logs, last), records.join(''));
  return records.length;
}

/** Replays the logs in their order: the remaining blocks and their parts. */
function replayLogs(logs: readonly string[]): Map<string, string> {
  const blocks = new Map<string, string>();
  for (const line of logs.join('').split('\n')) {
    const [, operation, part = '', block = ''] = RECORD.exec(line) ?? [];
    if (operation === ADDED) blocks.set(block, part);
    else if (operation === DROPPED) blocks.delete(block);
  }
  return blocks;
}

export interface Range {
  partition: string;
  first: number;
  last: number;
}

export function parseRange(part: string): Range | undefined {
  const [, partition, first, last] = PART.exec(part) ?? [];
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) };
}

/** Whether the part exists, or a part that it was merged into; true for names that are not part names. */
export function isCovered(parts: readonly Range[], name: string): boolean {
  const wanted = parseRange(name);
  return (
    !wanted ||
    parts.some(
      ({ partition, first, last }) =>
        partition === wanted.partition && first <= wanted.first && last >= wanted.last,
    )
  );
}

function parseLogNumber(name: string): number {
  return Number(LOG.exec(name)?.[1]);
}
