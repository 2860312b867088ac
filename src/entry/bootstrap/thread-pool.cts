import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** The highest default of `EMBEDDED_SESSIONS`. */
const SESSIONS = 8;
/** Threads per session: one for a read, and one for a statement of a command. */
const EACH = 2;
/** Threads for inserts, gunzip, files and names of hosts. */
const OTHERS = 8;

/**
 * Sets the size of libuv's thread pool, four by default, before its first use. Each running statement of the
 * embedded engine takes a thread. Further statements would wait where neither the query limiter nor a
 * deadline reaches them.
 *
 * Node.js 20 uses the pool to load ES modules. So the programs begin as CommonJS, and this runs before the
 * configuration is read.
 */
export function sizeThreadPool(): void {
  const { UV_THREADPOOL_SIZE: given = '', EMBEDDED_SESSIONS } = { ...readEnvFile(), ...process.env };
  const needed = EACH * (Number(EMBEDDED_SESSIONS) || SESSIONS) + OTHERS;
  process.env.UV_THREADPOOL_SIZE = given === '' ? String(needed) : given;
}

/** Empty if the file cannot be read: the program reports the error when it reads the file again. */
function readEnvFile(): NodeJS.ProcessEnv {
  try {
    return parseEnv(readFileSync('.env', 'utf8').replace(/^\uFEFF/, ''));
  } catch {
    return {};
  }
}
