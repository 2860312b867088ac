import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { AdminError } from '../admin/admin.service.js';
import type { SourceLine } from '../ingestion/files/line-splitter.js';

const BUFFERED_BYTES = 256 * 1024;
const LINE_FEED = Buffer.from('\n');

/** A new file with the rejected lines of an import, byte for byte, each with a line feed. */
export class RejectsFile {
  private readonly fd: number;
  private buffered: Buffer[] = [];
  private bufferedBytes = 0;
  private isEmpty = true;

  /** @throws AdminError if the file exists already, which could be the one that is imported; errors of the file system */
  constructor(private readonly path: string) {
    try {
      this.fd = openSync(path, 'wx', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new AdminError(`There is a file ${path} already: --rejects needs a new one`);
    }
  }

  /** Pieces of a line that is too long to be kept in memory; `add` ends it. */
  addPiece(piece: Buffer): void {
    this.isEmpty = false;
    // A copy: the piece is a part of what was read of the file, which would stay in memory with it.
    this.buffered.push(Buffer.from(piece));
    this.bufferedBytes += piece.length;
    if (this.bufferedBytes >= BUFFERED_BYTES) this.flush();
  }

  add({ bytes }: SourceLine): void {
    if (bytes) this.addPiece(bytes);
    this.addPiece(LINE_FEED);
  }

  /** Writes the rest; a file without lines is removed. */
  close(): void {
    this.flush();
    closeSync(this.fd);
    if (this.isEmpty) unlinkSync(this.path);
  }

  private flush(): void {
    const bytes = Buffer.concat(this.buffered);
    this.buffered = [];
    this.bufferedBytes = 0;
    // A disk may take a part only.
    for (let written = 0; written < bytes.length;) written += writeSync(this.fd, bytes, written);
  }
}
