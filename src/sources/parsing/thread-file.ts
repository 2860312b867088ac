/** The file that each thread runs. */
export const THREAD_FILE = new URL('./parse-thread.js', import.meta.url).href;
