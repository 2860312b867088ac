/** The highest default of `EMBEDDED_SESSIONS`. */
const SESSIONS = 8;
/** A session of a read, and one of a statement that a command sends. */
const EACH = 2;
/** Inserts, gunzip, files and names of hosts. */
const OTHERS = 8;

/**
 * Sets the size of libuv's pool of threads, which is four, before it is first used: each statement of the embedded engine has one of
 * them while it runs, and others would wait where neither the query limiter nor a deadline reaches them.
 *
 * Node.js 20 uses the pool to load ES modules, so the programs begin as CommonJS, and this is before the configuration is read.
 */
export function sizeThreadPool(): void {
  try {
    process.loadEnvFile();
  } catch {
    // There is none, or the program says later why it cannot be read.
  }
  const { UV_THREADPOOL_SIZE, EMBEDDED_SESSIONS } = process.env;
  if (!UV_THREADPOOL_SIZE)
    process.env.UV_THREADPOOL_SIZE = String(EACH * (Number(EMBEDDED_SESSIONS) || SESSIONS) + OTHERS);
}
