import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { AdminError } from '../../ops/admin/admin.error.js';
import type { SourceLine } from '../../sources/decoding/line-splitter.js';

const BUFFERED_BYTES = 256 * 1024;
const LINE_FEED = Buffer.from('\n');

/**
 * A new file with the rejected lines of an import, byte for byte, each with a line feed. An existing file is
 * renamed first: it may come from an interrupted run of the same command, or be any other file.
 */
export class RejectsFile {
  private readonly fd: number;
  private buffered: Buffer[] = [];
  private bufferedBytes = 0;
  private isEmpty = true;

  /** The new name of an existing file; undefined if there was none. */
  readonly earlier: string | undefined;

  /**
   * @param sources paths of the imported files
   * @throws AdminError if the name belongs to a source, or is not a regular file; errors of the file system
   */
  constructor(
    private readonly path: string,
    sources: readonly string[] = [],
  ) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && (!found.isFile() || sources.some((source) => isSameFile(source, path))))
      throw new AdminError(`There is a file ${path} already: --rejects needs another one`);
    if (found) {
      this.earlier = findFreeName(path);
      renameSync(path, this.earlier);
    }
    this.fd = openSync(path, 'wx', 0o600);
  }

  /** Adds a piece of a line that is too long to keep in memory; `add` ends the line. */
  addPiece(piece: Buffer): void {
    this.isEmpty = false;
    // A copy: the piece is a view of a buffer of the file, which would otherwise stay in memory.
    this.buffered.push(Buffer.from(piece));
    this.bufferedBytes += piece.length;
    if (this.bufferedBytes >= BUFFERED_BYTES) this.flush();
  }

  add({ bytes }: SourceLine): void {
    if (bytes) this.addPiece(bytes);
    this.addPiece(LINE_FEED);
  }

  /** Writes the buffered lines; a file without lines is removed. */
  close(): void {
    this.flush();
    closeSync(this.fd);
    if (this.isEmpty) unlinkSync(this.path);
  }

  private flush(): void {
    const bytes = Buffer.concat(this.buffered);
    this.buffered = [];
    this.bufferedBytes = 0;
    // A disk may accept only a part.
    for (let written = 0; written < bytes.length;) written += writeSync(this.fd, bytes, written);
  }
}

function isSameFile(path: string, other: string): boolean {
  const [first, second] = [path, other].map((name) => statSync(name, { throwIfNoEntry: false }));
  return first !== undefined && first.dev === second?.dev && first.ino === second.ino;
}

function findFreeName(path: string): string {
  let number = 1;
  while (existsSync(`${path}.${number}`)) number++;
  return `${path}.${number}`;
}
