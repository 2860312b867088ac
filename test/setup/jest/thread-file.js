import { join } from 'node:path';

/** The file that each thread runs, from the sources. */
export const THREAD_FILE = join(import.meta.dirname, 'parse-thread.js');
