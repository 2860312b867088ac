import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../../config/config.js';

/** The file that the engine locks while it has a directory open; it contains the process ID. */
const STATUS = 'status';
const OWNER_WRITTEN_WITHIN_MS = 2_000;
const POLL_MS = 10;

/** Permissions of the owner alone. */
const OWNER_ONLY = 0o700;
const GROUP_AND_OTHERS = 0o077;
/** The disk is full. The store is opened nevertheless, because it can be read. */
const FULL = new Set(['ENOSPC', 'EDQUOT']);

const TABLE_UUID = /\bUUID '([0-9a-f-]{36})'/;
const KEEPS_DATA = /^ENGINE = \w*MergeTree\b/m;
/** The name of a detached part, as the engine forms it: a reason, a partition, and three numbers. */
export const MISSING_TABLE_MARK = 'broken_table-directory-was-missing_0_0_0';

/**
 * Creates the directory if it is missing, with access for its owner only. An existing one stays unchanged.
 *
 * @throws ConfigError if it cannot be created, or no file can be written in it.
 */
export function prepareDataDirectory(path: string): void {
  try {
    makeDirectory(path, OWNER_ONLY);
    requireWritable(path);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw refuse(path, code);
  }
}

/**
 * Checks a directory that need not exist.
 *
 * @throws ConfigError if it belongs to another account or cannot be a directory; otherwise its server would
 * seem not to respond
 */
export function requireAccess(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'ENOTDIR') return;
    throw isDirectory(path)
      ? new ConfigError(`Invalid configuration. DATA_DIR: ${path} belongs to another account (${code})`)
      : refuse(path, code);
  }
}

function refuse(path: string, code: string): ConfigError {
  const isFile = existsSync(path) && !isDirectory(path);
  const reason = isFile ? 'is a file, not a directory' : `cannot be used (${code})`;
  return new ConfigError(`Invalid configuration. DATA_DIR: ${path} ${reason}`);
}

/** Also false for a path below a directory that cannot be entered. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Marks the tables whose directory is missing, in a closed data directory: the engine would silently create
 * an empty one. The mark is a directory in `detached/`, so it is in `system.detached_parts` until it is
 * removed.
 */
export function markMissingTables(directory: string): void {
  for (const { path } of findMissingTables(directory))
    mkdirSync(join(path, 'detached', MISSING_TABLE_MARK), { recursive: true });
}

/** The tables whose directory is missing, each with the path of that directory. */
export function findMissingTables(directory: string): { table: string; path: string }[] {
  const metadata = join(directory, 'metadata', 'default');
  if (!existsSync(metadata)) return [];
  const files = readdirSync(metadata).filter((name) => name.endsWith('.sql'));
  return files.flatMap((file) => {
    const definition = readFileSync(join(metadata, file), 'utf8');
    const uuid = TABLE_UUID.exec(definition)?.[1];
    if (uuid === undefined || !KEEPS_DATA.test(definition)) return [];
    const path = join(directory, 'store', uuid.slice(0, 3), uuid);
    return existsSync(path) ? [] : [{ table: file.slice(0, -'.sql'.length), path }];
  });
}

/** Logs a warning if other accounts have access to the directory of the embedded engine. */
export function warnOfSharedDirectory({ clickhouse, dataDir }: Config, logger: Logger): void {
  if (clickhouse.url !== undefined) return;
  const mode = statSync(dataDir).mode & 0o777;
  if ((mode & GROUP_AND_OTHERS) === 0) return;
  logger.warn(
    { data_dir: dataDir, mode: mode.toString(8) },
    'other accounts of this machine have access to DATA_DIR, which contains captured requests and hashes of API keys; chmod 700 removes it',
  );
}

/** Without `recursive`: on a file system that cannot create the name (/proc), Node would retry forever. */
function makeDirectory(path: string, mode?: number) {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || existsSync(parent)) throw error;
    makeDirectory(parent);
    mkdirSync(path, mode);
  }
}

/** Writes a file to find out: access(2) is not reliable for root and for remote file systems. */
function requireWritable(directory: string) {
  const probe = join(directory, `.probe-${process.pid}`);
  try {
    closeSync(openSync(probe, 'wx'));
    rmSync(probe);
  } catch (error) {
    if (!FULL.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/**
 * The process that has the directory open, as far as it can be determined; undefined if none is known.
 *
 * chdb only reports that opening failed; the reason goes straight to stderr. Its status file survives
 * a crash and process IDs are reused, so the process must really have that file open. If that cannot be
 * checked (outside Linux, or a process of another user), a file with the ID of a living process is enough.
 */
export function findLockOwner(directory: string): number | undefined {
  const status = join(directory, STATUS);
  const pid = readPid(status);
  if (pid === undefined || pid === process.pid || !isAlive(pid)) return undefined;
  return hasOpen(pid, status) ? pid : undefined;
}

/** Whether an engine, of this process or another, has the directory open, or was killed while it had. */
export function isOpen(directory: string): boolean {
  return existsSync(join(directory, STATUS));
}

/**
 * Whether another process has the directory, after the engine of this process failed to open it. The other
 * process writes its ID a moment after it has the lock; an engine that failed writes no file.
 */
export async function isTaken(directory: string): Promise<boolean> {
  const status = join(directory, STATUS);
  if (!existsSync(status)) return false;
  const giveUpAt = performance.now() + OWNER_WRITTEN_WITHIN_MS;
  while (performance.now() < giveUpAt) {
    // The other process may have closed the directory again.
    if (findLockOwner(directory) !== undefined || !existsSync(status)) return true;
    await pause(POLL_MS);
  }
  return false;
}

function readPid(status: string): number | undefined {
  try {
    const pid = /^PID: (\d+)$/m.exec(readFileSync(status, 'utf8'))?.[1];
    return pid === undefined ? undefined : Number(pid);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** By inode: the other process may have opened the directory by another path, or a link. */
function hasOpen(pid: number, file: string): boolean {
  const descriptors = `/proc/${pid}/fd`;
  try {
    const { dev, ino } = statSync(file);
    return readdirSync(descriptors).some((fd) => {
      const open = statSync(join(descriptors, fd), { throwIfNoEntry: false });
      return open?.dev === dev && open.ino === ino;
    });
  } catch {
    return true;
  }
}
