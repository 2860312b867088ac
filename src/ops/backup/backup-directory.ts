import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { AdminError } from '../admin/admin.error.js';
import { flush, flushTree } from '../../store/embedded/flush.js';
import { giveToOwner } from '../../store/embedded/owner.js';
import { BackupError } from './backup.service.js';

/** A list of all files, with their sizes. The engine writes it last. */
const LIST = '.backup';
const LIST_END = '</config>';
const SIZE = /<size>(\d+)<\/size>/g;
/**
 * A file in the list. Incremental backups store only the appended part of a file; identical files are stored
 * once.
 */
const FILE = /<file><name>([^<]+)<\/name><size>(\d+)<\/size>(.*?)<\/file>/g;
const INCOMPLETE = '.incomplete';
const OWNER_ONLY = 0o700;
/** Free space that is kept for other writes. */
const SPARE_BYTES = 64 * 1024 * 1024;

/**
 * An unfinished backup of the embedded engine. It gets its final name once it is complete and on the disk.
 */
export class NewBackupDirectory {
  /** The engine writes the backup here. */
  readonly draft: string;
  private readonly path: string;

  /**
   * @param dataDir the store's directory, whose owner also owns the backup
   * @throws AdminError if the path exists already, or is not a possible place
   */
  constructor(path: string, dataDir: string) {
    this.path = resolve(path);
    if (existsSync(this.path)) throw new AdminError(`There is a ${path} already: a backup needs a new name`);
    const parent = dirname(this.path);
    if (!existsSync(parent) || !statSync(parent).isDirectory())
      throw new AdminError(`There is no directory ${parent} for the backup`);
    if (isWithin(this.path, resolve(dataDir)))
      throw new AdminError('A backup cannot be inside of the data directory: both would be lost together');
    this.draft = `${this.path}.${randomBytes(4).toString('hex')}${INCOMPLETE}`;
  }

  /** Interrupted backups to the same path. */
  listLeftOver(): string[] {
    const parent = dirname(this.path);
    const prefix = `${basename(this.path)}.`;
    return readdirSync(parent)
      .filter((name) => name.startsWith(prefix) && name.endsWith(INCOMPLETE))
      .map((name) => join(parent, name));
  }

  /** @throws AdminError if there is not enough space for `bytes` */
  make(bytes: number, dataDir: string): void {
    requireSpace(dirname(this.path), bytes);
    mkdirSync(this.draft, { mode: OWNER_ONLY });
    // The server with the open data directory writes into it.
    giveToOwner(this.draft, dataDir);
  }

  /**
   * Renames the backup to its final name.
   *
   * @throws BackupError if a file is incomplete: with the store on another file system, the engine does not
   * notice a full disk
   */
  publish(): void {
    flushTree(this.draft);
    const broken = this.findBroken();
    if (broken !== undefined) {
      const parent = dirname(this.path);
      throw new BackupError(
        `The backup failed: its file ${broken} is not whole; ${parent} has ${toMegabytes(getFreeBytes(parent))} MB free`,
      );
    }
    renameSync(this.draft, this.path);
    flush(dirname(this.path));
  }

  discard(): void {
    rmSync(this.draft, { recursive: true, force: true });
  }

  /** The name of a file that is missing or has the wrong size. */
  private findBroken(): string | undefined {
    const readSize = (name: string) => statSync(join(this.draft, name), { throwIfNoEntry: false })?.size ?? 0;
    const list = readSize(LIST) > 0 ? readFileSync(join(this.draft, LIST), 'utf8') : '';
    if (!list.endsWith(LIST_END)) return LIST;
    for (const [, name = '', size, more = ''] of list.matchAll(FILE))
      if (!more.includes('<data_file>') && readSize(name) !== Number(size) - getBaseBytes(more, Number(size)))
        return name;
    return undefined;
  }
}

/** Number of bytes of a file that are in the base. */
function getBaseBytes(more: string, size: number): number {
  if (!more.includes('<use_base>')) return 0;
  const [, part] = /<base_size>(\d+)</.exec(more) ?? [];
  return part === undefined ? size : Number(part);
}

/** A backup of the embedded engine, or of a server, copied to this machine. */
export class BackupDirectory {
  readonly path: string;

  /** @throws AdminError if the path has no complete backup, or the backup cannot be read */
  constructor(path: string) {
    this.path = resolve(path);
    try {
      statSync(join(this.path, LIST));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES')
        throw new AdminError(`The backup ${path} belongs to another account (EACCES)`);
      if (!existsSync(this.path)) throw new AdminError(`There is no backup ${path}`);
      throw new AdminError(
        `${path} is not a whole backup: it has no list of its files (${LIST}), which is written last`,
      );
    }
  }

  /** The name of the database in the backup. */
  get database(): string {
    const metadata = join(this.path, 'metadata');
    const names = existsSync(metadata) ? readdirSync(metadata) : [];
    const [file] = names.filter((name) => name.endsWith('.sql'));
    // A backup without changes since its base contains no such file.
    return file?.slice(0, -'.sql'.length) ?? 'default';
  }

  /** Bytes of all its files, including the files of its base. */
  get bytes(): number {
    const list = readFileSync(join(this.path, LIST), 'utf8');
    return [...list.matchAll(SIZE)].reduce((sum, [, size]) => sum + Number(size), 0);
  }
}

/** @throws AdminError if the file system of a directory has not enough space for `bytes` */
export function requireSpace(directory: string, bytes: number): void {
  const free = getFreeBytes(directory);
  if (free >= bytes + SPARE_BYTES) return;
  throw new AdminError(
    `${directory} has ${toMegabytes(free)} MB free, ${toMegabytes(bytes + SPARE_BYTES)} MB are needed`,
  );
}

function getFreeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function toMegabytes(bytes: number): number {
  return Math.ceil(bytes / 1024 / 1024);
}

function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith('../');
}
