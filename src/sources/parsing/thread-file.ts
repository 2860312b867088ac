/** The file that each thread runs. A module of its own, because tests start threads with the sources. */
export const THREAD_FILE = new URL('./parse-thread.js', import.meta.url).href;
