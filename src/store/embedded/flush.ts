import { closeSync, fsyncSync, openSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Waits until a file, or the names in a directory, are on the disk. */
export function flush(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The same for everything in a directory. */
export function flushTree(directory: string): void {
  for (const { parentPath, name } of readdirSync(directory, { recursive: true, withFileTypes: true }))
    flush(join(parentPath, name));
  flush(directory);
}

/** Writes a file that is there whole or not at all, also after a power failure. */
export function writeFlushed(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, path);
  flush(dirname(path));
}
