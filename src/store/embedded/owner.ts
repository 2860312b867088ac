import { lchownSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * If this process is root: gives a directory and everything in it to the account that owns `owned`. Otherwise
 * a service of that account could not use root's files.
 */
export function giveToOwner(path: string, owned: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(owned);
  if (uid === 0) return;
  give(path, uid, gid);
}

function give(directory: string, uid: number, gid: number): void {
  lchownSync(directory, uid, gid);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) give(path, uid, gid);
    else lchownSync(path, uid, gid);
  }
}
