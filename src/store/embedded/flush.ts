import { closeSync, fsyncSync, openSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Waits until a file's content, or a directory's names, are on the disk. */
export function flush(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Flushes everything in a directory. */
export function flushTree(directory: string): void {
  for (const { parentPath, name } of readdirSync(directory, { recursive: true, withFileTypes: true }))
    flush(join(parentPath, name));
  flush(directory);
}

/** Writes a file atomically: it exists as a whole or not at all, even after a power failure. */
export function writeFlushed(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, path);
  flush(dirname(path));
}
