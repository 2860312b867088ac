import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** What the engine keeps locked while it has a directory open; it names the process. */
const STATUS = 'status';

/**
 * The process that has the directory open, as far as can be told; undefined when none is known to.
 *
 * The engine itself only says that it could not open the directory, and prints why past us. Its status file survives
 * a crash and process numbers come again, so the process must really hold that file open; where that cannot be looked
 * up (outside Linux, or the process of another user), a file that names a living process is enough.
 */
export function holderOf(directory: string): number | undefined {
  const status = join(directory, STATUS);
  const pid = pidIn(status);
  if (pid === undefined || pid === process.pid || !isAlive(pid)) return undefined;
  return holds(pid, status) ? pid : undefined;
}

function pidIn(status: string): number | undefined {
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

function holds(pid: number, file: string): boolean {
  const descriptors = `/proc/${pid}/fd`;
  try {
    return readdirSync(descriptors).some((fd) => linkOf(join(descriptors, fd)) === file);
  } catch {
    return true;
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
