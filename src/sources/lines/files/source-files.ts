import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type FormatChoice, LineParser } from '../formats/request-format.js';
import { LineSource, LineSourceError, describeError } from './line-source.js';

/** Number of lines at the beginning of a file that are searched for its first request. */
const LOOKED_AT_LINES = 1_000;
const names = new Intl.Collator('en', { numeric: true });

/** A file to be imported. */
export interface SourceFile {
  readonly path: string;
  /** Null if unknown, for example for a pipe. */
  readonly bytes: number | null;
  /** The reason why the file is not imported. */
  readonly error?: LineSourceError;
  /** The file has lines, but none of the first ones is a request. */
  readonly isForeign?: boolean;
  /** The file no longer grows. */
  readonly isFinished?: boolean;
}

interface DatedFile extends SourceFile {
  /** Time of its first request in milliseconds since the Unix epoch. */
  readonly from?: number | undefined;
}

/**
 * The files of several paths, each once, in the order of their first requests, or of their names if those
 * times are equal or unknown. A directory stands for its files, without subdirectories and hidden files; a
 * file in it without a request at its beginning is `isForeign`, such as an error log next to an access log.
 */
export async function findSourceFiles(
  paths: readonly string[],
  format?: FormatChoice | string,
): Promise<SourceFile[]> {
  const found = new Map<string, DatedFile>();
  for (const path of paths)
    for await (const file of expand(path)) {
      const key = file.error ? file.path : await realpath(file.path);
      if (!found.has(key)) found.set(key, file.error ? file : await lookInto(file, format));
    }
  return [...found.values()].sort(
    (a, b) => (a.from ?? Infinity) - (b.from ?? Infinity) || names.compare(a.path, b.path),
  );
}

/** A path, or the files of a directory. */
async function* expand(path: string): AsyncGenerator<SourceFile & { isInDirectory?: boolean }> {
  try {
    const stats = await stat(path);
    if (!stats.isDirectory()) {
      yield { path, bytes: stats.isFile() ? stats.size : null };
      return;
    }
    const entries = (await readdir(path)).filter((name) => !name.startsWith('.'));
    let count = 0;
    for (const entry of entries.map((name) => join(path, name))) {
      // A link may point to nothing.
      const stats = await stat(entry).catch(() => null);
      if (!stats?.isFile()) continue;
      count += 1;
      yield { path: entry, bytes: stats.size, isInDirectory: true };
    }
    if (count === 0) throw new Error('there is no file in the directory');
  } catch (error) {
    yield { path, bytes: 0, error: new LineSourceError(`Cannot read ${path}: ${describeError(error)}`) };
  }
}

/**
 * Finds the first request of a file. Errors of reading are ignored here: the import of the file meets them
 * again.
 */
async function lookInto(
  { path, bytes, isInDirectory = false }: SourceFile & { isInDirectory?: boolean },
  format: FormatChoice | string | undefined,
): Promise<DatedFile> {
  // Bytes that are read from a pipe are gone.
  if (bytes === null) return { path, bytes };
  const parser = new LineParser(format);
  let count = 0;
  try {
    for await (const lines of await LineSource.open(path)) {
      for (const { text } of lines) {
        const parsed = text === null ? null : parser.parse(text);
        if (parsed && 'record' in parsed) return { path, bytes, from: parsed.record.timestamp };
      }
      count += lines.length;
      if (count >= LOOKED_AT_LINES) break;
    }
  } catch (error) {
    if (!(error instanceof LineSourceError)) throw error;
    return { path, bytes };
  }
  return { path, bytes, isForeign: isInDirectory && count > 0 };
}
