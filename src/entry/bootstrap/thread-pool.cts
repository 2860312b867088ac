import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** The highest default of `EMBEDDED_SESSIONS`. */
const SESSIONS = 8;
/** A session of a read, and one of a statement that a command sends. */
const EACH = 2;
/** Inserts, gunzip, files and names of hosts. */
const OTHERS = 8;

/**
 * Sets the size of libuv's pool of threads, which is four, before it is first used: each statement of the
 * embedded engine has one of them while it runs, and others would wait where neither the query limiter nor a
 * deadline reaches them.
 *
 * Node.js 20 uses the pool to load ES modules, so the programs begin as CommonJS, and this is before the
 * configuration is read.
 */
export function sizeThreadPool(): void {
  const { UV_THREADPOOL_SIZE: given = '', EMBEDDED_SESSIONS } = { ...readEnvFile(), ...process.env };
  const needed = EACH * (Number(EMBEDDED_SESSIONS) || SESSIONS) + OTHERS;
  process.env.UV_THREADPOOL_SIZE = given === '' ? String(needed) : given;
}

/** Without its variables if it cannot be read: the program says so when it reads it again. */
function readEnvFile(): NodeJS.ProcessEnv {
  try {
    return parseEnv(readFileSync('.env', 'utf8').replace(/^\uFEFF/, ''));
  } catch {
    return {};
  }
}
