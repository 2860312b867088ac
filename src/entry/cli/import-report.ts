import type { FileSummary, ImportSummary } from '../../sources/lines/files/importer.js';
import { LineSourceError } from '../../sources/lines/files/line-source.js';
import type { RejectedLines } from '../../sources/lines/files/rejected-lines.js';
import type { SourceFile } from '../../sources/lines/files/source-files.js';
import { printMessage } from './output.js';
import { StopSignal } from './stop-signal.js';

/** No line could be imported; the reasons have been printed. */
class NothingImportedError extends Error {
  override readonly name = 'NothingImportedError';
}

/** Some of several files could not be read; each has been named. */
class UnreadFilesError extends Error {
  override readonly name = 'UnreadFilesError';
}

/** The result for a file. */
export interface FileResult {
  readonly path: string;
  readonly format?: string | undefined;
  /** Complete at the end of the import. */
  counts?: FileSummary;
  /** Number of the last line read. */
  lastLine?: number | undefined;
  /** A signal stopped it before its end. */
  isStopped?: boolean;
  /** Its last line, which may be half-written; null if there is none such. */
  lastLineLeftOut?: string | null;
  hasTrailingBytes?: boolean;
  /** Why the file was not read to its end. */
  error?: LineSourceError;
  /** Why the file was left out. */
  readonly note?: string;
}

export const STANDARD_INPUT = '-';
const REASONS_SHOWN = 10;
const LAST_LINE_LEFT_OUT =
  'the last line was left out, because it has no line end and may be half-written; the same command adds it once it has one, ' +
  'and a file that does not grow any more is read to its end from standard input (-)';

const REST_OF_LINE =
  'the first line may be the rest of a line that a rotation divided: import the file before it in the same command, which joins the two';

const WAYS_OUT =
  'The log may have another format: import --help lists the formats, --format also takes a log_format of nginx or a LogFormat ' +
  'of Apache, and --map the names of a JSON log. Anything else can be rewritten as lines such as ' +
  '{"timestamp":"2026-11-20T14:05:09Z","method":"GET","url":"https://api.example.com/items","status_code":200}';

const TRAILING_BYTES =
  'bytes follow the compressed data and are no part of it; all lines before them were read';

export const IDENTITY =
  'A request without request_uuid is identified by its environment, its source, the text of its line and how often that\n' +
  'text occurred before. If several nodes log for one app, set --source for each, because their lines can be equal.';

/**
 * Fails when a signal stopped the import, a file was not read to its end, or nothing was imported.
 *
 * @throws StoppedError, LineSourceError, UnreadFilesError, NothingImportedError
 */
export function checkResults(
  files: readonly SourceFile[],
  results: readonly FileResult[],
  { read, rejected }: ImportSummary,
  stop: StopSignal,
) {
  for (const { path, note, lastLineLeftOut = null, hasTrailingBytes } of results) {
    if (note !== undefined) printMessage(`${path}: ${note}`);
    if (lastLineLeftOut !== null) printMessage(`${path}: ${LAST_LINE_LEFT_OUT}`);
    if (hasTrailingBytes) printMessage(`${path}: ${TRAILING_BYTES}`);
  }
  const last = results.at(-1);
  if (last?.isStopped || results.length < files.length)
    throw stop.createError(
      `${describePlace(last)}. What was read is stored; the same command adds the rest.`,
    );
  const failures = results.flatMap(({ error }) => error ?? []);
  const [failure] = failures;
  if (failure) {
    if (files.length === 1) throw failure;
    for (const { message } of failures) printMessage(message);
    throw new UnreadFilesError(`${failures.length} of ${files.length} files could not be read to their end`);
  }
  if (results.every(({ note }) => note !== undefined))
    throw new NothingImportedError('nothing was imported: no file has a request among its first lines');
  if (read > 0 && rejected === read)
    throw new NothingImportedError(`nothing was imported: all lines were rejected (${count(read)})`);
}

function describePlace(last: FileResult | undefined): string {
  if (last === undefined) return 'before the first file';
  const name = last.path === STANDARD_INPUT ? 'standard input' : last.path;
  return last.isStopped ? `at line ${count(last.lastLine ?? 0)} of ${name}` : `after ${name}`;
}

export function toFigures({ path, format, counts, note, error }: FileResult): object {
  const problem = error?.message ?? note;
  return { file: path, format: format ?? null, ...counts, ...(problem !== undefined && { problem }) };
}

/**
 * Prints the messages about an import, in addition to its numbers.
 * @param isWhole whether all files were read to their end
 */
export function report(summary: ImportSummary, rejections: readonly RejectedLines[], isWhole: boolean) {
  const { read, rejected, imported, duplicates, ignored_members, over_limits } = summary;
  for (const { reason, count: lines, first, file } of rejections.slice(0, REASONS_SHOWN)) {
    const place = file === undefined ? '' : ` of ${file}`;
    const numbers = `${first.join(', ')}${lines > first.length ? ', …' : ''}${place}`;
    const rest = first[0] === 1 && read > rejected ? `; ${REST_OF_LINE}` : '';
    if (lines === 1) printMessage(`1 line rejected: ${reason} (line ${numbers})${rest}`);
    else printMessage(`${count(lines)} lines rejected: ${reason} (lines ${numbers})${rest}`);
  }
  const others = rejections.slice(REASONS_SHOWN);
  if (others.length > 0) {
    const lines = others.reduce((sum, group) => sum + group.count, 0);
    printMessage(`${count(lines)} more lines rejected, for ${others.length} other reasons`);
  }
  if (ignored_members) {
    const members = Object.entries(ignored_members).map(([name, times]) => `${name} (${count(times)})`);
    printMessage(`invalid optional members, left out of their requests: ${members.join(', ')}`);
  }
  if (over_limits) {
    const kinds = Object.entries(over_limits).map(([kind, times]) => `${kind} (${count(times)})`);
    printMessage(`counted under *, because the app is at its limit of names: ${kinds.join(', ')}`);
  }
  if (imported > 0) return;
  if (duplicates > 0 && isWhole) printMessage(`All requests were in the store already. ${IDENTITY}`);
  if (rejections.some(({ reason }) => reason.startsWith('timestamp: older')))
    printMessage('If this is an old sample, --shift-to now moves its times.');
  else if (duplicates === 0 && rejections.length > 0) printMessage(WAYS_OUT);
}

const count = (number: number) => number.toLocaleString('en');
