import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { AdminError, AdminService } from '../admin/admin.service.js';
import { Config } from '../config/config.js';
import { ABANDONED_AFTER_SECONDS } from '../ingestion/batch-log.js';
import {
  type FileSummary,
  type ImportSummary,
  Importer,
  latestTimestamp,
} from '../ingestion/files/importer.js';
import { SOURCE_RULE, isSource } from '../ingestion/files/line-identity.js';
import { LineSource, LineSourceError } from '../ingestion/files/line-source.js';
import type { RejectedLines } from '../ingestion/files/rejected-lines.js';
import { type SourceFile, findSourceFiles } from '../ingestion/files/source-files.js';
import { envDecoder } from '../ingestion/formats/request-decoders.js';
import { REQUEST_FORMATS, type RequestFormat } from '../ingestion/formats/request-format.js';
import { Redactor } from '../ingestion/redaction/redactor.js';
import { RequestsWriter } from '../ingestion/requests.writer.js';
import { type AuditTarget, runAudited } from './audit.js';
import { id, time } from './options.js';
import { printMessage, printResult } from './output.js';
import { Progress } from './progress.js';
import { RejectsFile } from './rejects-file.js';
import { StopSignal } from './stop-signal.js';
import { withStore } from './with-store.js';

interface ImportCommandOptions {
  app: number;
  env: string;
  source: string;
  format?: RequestFormat;
  baseUrl?: string;
  consumerFrom?: 'user';
  rejects?: string;
  /** Milliseconds since the epoch. */
  shiftTo?: number;
}

/** Not one line could be imported; the reasons have been printed. */
class NothingImportedError extends Error {
  override readonly name = 'NothingImportedError';
}

/** Of several files, some could not be read; each has been named. */
class UnreadFilesError extends Error {
  override readonly name = 'UnreadFilesError';
}

/** What became of a file. */
interface FileResult {
  readonly path: string;
  readonly format?: RequestFormat | undefined;
  /** Complete at the end of the import. */
  counts?: FileSummary;
  /** Number of the last line that was read. */
  lastLine?: number | undefined;
  /** A signal stopped it before its end. */
  isStopped?: boolean;
  isLastLineLeftOut?: boolean;
  /** Why it was not read to its end. */
  error?: LineSourceError;
  /** Why it was left out. */
  readonly note?: string;
}

const STANDARD_INPUT = '-';
/** Growth of the heap before the next collection: lines become garbage soon, and the engine needs the memory. */
const HEAP_GROWING = '--heap-growing-percent=40';
const REASONS_SHOWN = 10;
const LAST_LINE_LEFT_OUT =
  'the last line was left out, because it has no line end and may be half-written; the same command adds it once it has one, ' +
  'and a file that does not grow any more is read to its end from standard input (-)';

const IDENTITY =
  'A request without request_uuid is identified by its environment, its source, the text of its line and how often that\n' +
  'text occurred before. If several nodes log for one app, set --source for each, because their lines can be equal.';
const EXAMPLES = `
Examples:
  request-analytics import access.log.gz --app 1
  request-analytics import /var/log/nginx --app 1
  request-analytics import access.log access.log.1 access.log.2.gz --app 1
  request-analytics import access.log --app 1 --source web-2 --base-url https://shop.example.com
  request-analytics import requests.ndjson --app 1 --env staging
  request-analytics import u_ex261120.log --app 1 --format w3c --consumer-from user
  request-analytics import access.log --app 1 --rejects rejected.log
  xz -dc access.log.xz | request-analytics import - --app 1
  request-analytics import old-sample.log --app 1 --shift-to now

${IDENTITY}`;

export function importCommand(program: Command): void {
  program
    .command('import')
    .description('import requests from files; can be repeated, requests already in the store are skipped')
    .argument(
      '<files...>',
      'NDJSON or access logs, plain or compressed with gzip, zstd or bzip2, or directories of them; - for standard input',
    )
    .requiredOption('--app <id>', 'app ID', id)
    .option('--env <name>', 'environment of requests that name none', env, 'prod')
    .option('--source <name>', 'where the lines come from, such as the node that logged them', source, '')
    .addOption(new Option('--format <format>', 'format; detected by default').choices(REQUEST_FORMATS))
    .option('--base-url <url>', 'base of URLs that are only a path, as in access logs', baseUrl)
    .addOption(new Option('--consumer-from <field>', 'access log field with the consumer').choices(['user']))
    .option('--shift-to <iso|now>', 'move all times so that the last request is at this time', shiftTarget)
    .option('--rejects <file>', 'file for the rejected lines, as they were; one of that name is renamed')
    .addHelpText('after', EXAMPLES)
    .action((paths: string[], options: ImportCommandOptions) =>
      runAudited('import', { app_id: options.app, env: options.env }, () => run(paths, options)),
    );
}

function run(paths: readonly string[], options: ImportCommandOptions): Promise<AuditTarget> {
  if (paths.length > 1 && paths.includes(STANDARD_INPUT))
    throw new AdminError('Standard input (-) cannot be imported together with files');
  setFlagsFromString(HEAP_GROWING);
  return withStore(async (store, { coordinator, isShared }) => {
    await new AdminService(store).requireApp(options.app);
    const { nameLimits, redaction } = new Config();
    const writer = RequestsWriter.create(store, coordinator, nameLimits, new Redactor(redaction));
    // If this process is the only writer, no incomplete batch is in flight elsewhere.
    const recovery = await writer.recover(isShared ? ABANDONED_AFTER_SECONDS : 0);
    for (const [batch, why] of recovery.rejected)
      printMessage(`batch ${batch} cannot be completed: ${String(why)}`);
    const { read, imported, duplicates, rejected, logged } = await importPaths(
      paths,
      options,
      writer,
    ).finally(() => writer.close());
    return { read, imported, duplicates, rejected, logged };
  });
}

async function importPaths(
  paths: readonly string[],
  options: ImportCommandOptions,
  writer: RequestsWriter,
): Promise<ImportSummary> {
  const stop = new StopSignal();
  try {
    if (paths[0] !== STANDARD_INPUT)
      return await importFiles(await findSourceFiles(paths, options.format), options, writer, stop);
    if (options.shiftTo === undefined)
      return await importFiles([{ path: STANDARD_INPUT, bytes: null }], options, writer, stop);
    // The last time is known only at the end, so the lines are read twice.
    const directory = await mkdtemp(join(tmpdir(), 'request-analytics-import-'));
    try {
      const path = join(directory, 'standard-input');
      try {
        await pipeline(process.stdin, createWriteStream(path), { signal: stop.signal });
      } catch (error) {
        if (stop.signal.aborted) throw stop.createError('before the first line. Nothing was imported.');
        throw error;
      }
      return await importFiles(
        [{ path, bytes: (await stat(path)).size, isFinished: true }],
        options,
        writer,
        stop,
      );
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  } finally {
    stop.close();
  }
}

async function importFiles(
  files: readonly SourceFile[],
  options: ImportCommandOptions,
  writer: RequestsWriter,
  stop: StopSignal,
): Promise<ImportSummary> {
  if (files.length === 1 && files[0]?.error) throw files[0].error;
  const { app, env, source, format, baseUrl, consumerFrom, shiftTo } = options;
  const pipe = files.find(({ bytes }) => bytes === null);
  if (shiftTo !== undefined && pipe)
    throw new AdminError(
      `--shift-to reads a file twice, and ${pipe.path} can be read once: write it to standard input (-)`,
    );
  const shiftMs = shiftTo === undefined ? 0 : await shiftFor(files, shiftTo, format, stop);
  const importer = new Importer(writer, {
    appId: app,
    env,
    source,
    format,
    baseUrl,
    consumerFrom,
    shiftMs,
    now: Date.now(),
    onRejected: (line) => rejects?.add(line),
  });
  const imported = files.filter(({ isForeign }) => !isForeign).map(({ path }) => path);
  const rejects = options.rejects === undefined ? undefined : new RejectsFile(options.rejects, imported);
  if (rejects?.earlier !== undefined)
    printMessage(`there was a file ${options.rejects} already: it is ${rejects.earlier} now`);
  const progress = new Progress(sumBytes(files));
  const results: FileResult[] = [];
  try {
    for (const file of files) {
      if (stop.signal.aborted) break;
      const label = files.length > 1 ? file.path : undefined;
      results.push(await importFile(file, label, importer, { rejects, progress, stop }));
    }
  } finally {
    // Also for a truncated source: the lines before the end are in the store.
    const summary = await importer.end().finally(() => {
      progress.stop();
      rejects?.close();
    });
    printResult(files.length > 1 ? { ...summary, files: results.map(toFigures) } : summary);
    report(summary, importer.rejectedLines.list());
  }
  checkResults(files, results, importer.summary, stop);
  return importer.summary;
}

async function importFile(
  { path, error, isForeign, isFinished }: SourceFile,
  label: string | undefined,
  importer: Importer,
  { rejects, progress, stop }: { rejects: RejectsFile | undefined; progress: Progress; stop: StopSignal },
): Promise<FileResult> {
  if (error) return { path, error };
  if (isForeign) return { path, note: 'left out, because none of its first lines is a request' };
  const result: FileResult = { path };
  try {
    const lineSource = await LineSource.open(path, {
      onTooLong: (piece) => rejects?.addPiece(piece),
      isFinished,
    });
    stop.onStop(() => {
      lineSource.stop();
    });
    result.counts = importer.startFile(label);
    for await (const lines of lineSource) {
      await importer.add(lines);
      result.lastLine = lines.at(-1)?.number;
      progress.update(lineSource.bytesRead, importer.summary.read);
    }
    if (lineSource.isStopped) result.isStopped = true;
    result.isLastLineLeftOut = lineSource.isLastLineLeftOut;
    progress.endFile(lineSource.bytesRead);
  } catch (failure) {
    if (!(failure instanceof LineSourceError)) throw failure;
    result.error = failure;
  }
  return { ...result, format: importer.format };
}

/**
 * Fails when a signal stopped the import, a file was not read to its end, or nothing was imported.
 *
 * @throws StoppedError, LineSourceError, UnreadFilesError, NothingImportedError
 */
function checkResults(
  files: readonly SourceFile[],
  results: readonly FileResult[],
  { read, rejected }: ImportSummary,
  stop: StopSignal,
) {
  for (const { path, note, isLastLineLeftOut } of results) {
    if (note !== undefined) printMessage(`${path}: ${note}`);
    if (isLastLineLeftOut) printMessage(`${path}: ${LAST_LINE_LEFT_OUT}`);
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

function toFigures({ path, format, counts, note, error }: FileResult): object {
  const problem = error?.message ?? note;
  return { file: path, format: format ?? null, ...counts, ...(problem !== undefined && { problem }) };
}

function sumBytes(files: readonly SourceFile[]): number | null {
  const sizes = files.map(({ bytes, isForeign }) => (isForeign ? 0 : bytes));
  return sizes.reduce((sum, size) => (sum === null || size === null ? null : sum + size), 0);
}

/** Prints the messages about an import, in addition to its numbers. */
function report(summary: ImportSummary, rejections: readonly RejectedLines[]) {
  const { imported, duplicates, ignored_members, over_limits } = summary;
  for (const { reason, count: lines, first, file } of rejections.slice(0, REASONS_SHOWN)) {
    const place = file === undefined ? '' : ` of ${file}`;
    const numbers = `${first.join(', ')}${lines > first.length ? ', …' : ''}${place}`;
    if (lines === 1) printMessage(`1 line rejected: ${reason} (line ${numbers})`);
    else printMessage(`${count(lines)} lines rejected: ${reason} (lines ${numbers})`);
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
  if (duplicates > 0) printMessage(`All requests were in the store already. ${IDENTITY}`);
  if (rejections.some(({ reason }) => reason.startsWith('timestamp: older')))
    printMessage('If this is an old sample, --shift-to now moves its times.');
}

const count = (number: number) => number.toLocaleString('en');

async function shiftFor(
  files: readonly SourceFile[],
  target: number,
  format: RequestFormat | undefined,
  stop: StopSignal,
): Promise<number> {
  let latest: number | undefined;
  for (const { path, error, isForeign, isFinished } of files) {
    if (error || isForeign || stop.signal.aborted) continue;
    const lineSource = await LineSource.open(path, { isFinished });
    stop.onStop(() => {
      lineSource.stop();
    });
    const last = await latestTimestamp(lineSource, format);
    if (last !== undefined) latest = Math.max(latest ?? -Infinity, last);
  }
  return latest === undefined ? 0 : target - latest;
}

function shiftTarget(value: string): number {
  const target = value === 'now' ? Date.now() : time(value);
  if (target > Date.now()) throw new InvalidArgumentError('It must not be in the future.');
  return target;
}

function env(value: string): string {
  if (envDecoder.decode(value) === undefined)
    throw new InvalidArgumentError('It must be 1 to 32 letters, digits, hyphens or underscores.');
  return value;
}

function source(value: string): string {
  if (value === '' || !isSource(value)) throw new InvalidArgumentError(`It ${SOURCE_RULE}.`);
  return value;
}

/** Without a trailing slash, because paths begin with one. */
function baseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new InvalidArgumentError('It must be an http or https URL of scheme, host, port and path.');
  return `${url.origin}${url.pathname}`.replace(/\/$/, '');
}
