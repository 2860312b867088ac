import { gzipSync } from 'node:zlib';

/** Lines in gzip, as the libraries write them. */
export function logFile(items: readonly (object | string)[]): Buffer {
  const lines = items.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  return gzipSync(lines.map((line) => `${line}\n`).join(''));
}
