import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type FormatChoice, LineParser } from '../formats/request-format.js';
import { LineSource, LineSourceError, describeError } from './line-source.js';

/** Lines of the beginning in which a file's first request is looked for. */
const LOOKED_AT_LINES = 1_000;
const names = new Intl.Collator('en', { numeric: true });

/** A file that is to be imported. */
export interface SourceFile {
  readonly path: string;
  /** Null if unknown, as of a pipe. */
  readonly bytes: number | null;
  /** Why it is not imported. */
  readonly error?: LineSourceError;
  /** It has lines, and none of the first ones is a request. */
  readonly isForeign?: boolean;
  /** It does not grow any more. */
  readonly isFinished?: boolean;
}

interface DatedFile extends SourceFile {
  /** Time of its first request in milliseconds since the Unix epoch. */
  readonly from?: number | undefined;
}

/**
 * The files of several paths, each once, in the order of their first requests, or of their names where those
 * are equal or not known. A directory stands for the files in it, without those in its directories and those
 * whose names begin with a dot; one of them that has no request at its beginning is `isForeign`, such as an
 * error log beside an access log.
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
    (one, other) => (one.from ?? Infinity) - (other.from ?? Infinity) || names.compare(one.path, other.path),
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
      // A link may lead nowhere.
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

/** Finds the first request of a file. What cannot be read is found again when the file is imported. */
async function lookInto(
  { path, bytes, isInDirectory = false }: SourceFile & { isInDirectory?: boolean },
  format: FormatChoice | string | undefined,
): Promise<DatedFile> {
  // What is read of a pipe is gone.
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
