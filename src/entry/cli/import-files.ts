import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { AdminError } from '../../ops/admin/admin.error.js';
import { createAdmin } from '../../ops/admin/admin.js';
import { Config, presetVariable } from '../../config/config.js';
import { ABANDONED_AFTER_SECONDS } from '../../write/batch-log.js';
import {
  IMPORT_BATCH,
  type ImportSummary,
  Importer,
  latestTimestamp,
} from '../../sources/lines/files/importer.js';
import { LineSource, LineSourceError } from '../../sources/lines/files/line-source.js';
import { type SourceFile, findSourceFiles } from '../../sources/lines/files/source-files.js';
import {
  type FormatChoice,
  LineParser,
  parseFormatChoice,
} from '../../sources/lines/formats/request-format.js';
import type { SourceLine } from '../../sources/decoding/line-splitter.js';
import { Redactor } from '../../records/redaction/redactor.js';
import { RequestsWriter } from '../../write/requests.writer.js';
import type { AuditTarget } from './audit.js';
import { adviseOnImport } from './import-advice.js';
import { type FileResult, STANDARD_INPUT, checkResults, report, toFigures } from './import-report.js';
import { printForPeople, printMessage, printResult } from './output.js';
import { Progress } from './progress.js';
import { RejectsFile } from './rejects-file.js';
import { StopSignal } from './stop-signal.js';
import { withStore } from './with-store.js';

/** Options of `import`, parsed. */
export interface ImportFilesOptions {
  app: number;
  env: string;
  source: string;
  format?: string;
  map?: string;
  trustForwarded: boolean;
  baseUrl?: string;
  consumerFrom?: 'user';
  rejects?: string;
  /** Milliseconds since the epoch. */
  shiftTo?: number;
}

/**
 * Growth of the heap in percent before the next collection. With 150 an import takes 0.9 of the processor
 * time that it takes with 40, and 120 MB more memory.
 */
const HEAP_GROWING = '--heap-growing-percent=150';
/**
 * The engine's allocator returns unused memory after half a second instead of five: 75 MB less at the peak.
 */
const ALLOCATOR = 'dirty_decay_ms:500,muzzy_decay_ms:0';

export function runImport(paths: readonly string[], options: ImportFilesOptions): Promise<AuditTarget> {
  if (paths.length > 1 && paths.includes(STANDARD_INPUT))
    throw new AdminError('Standard input (-) cannot be imported together with files');
  setFlagsFromString(HEAP_GROWING);
  // The engine reads it when it is loaded.
  presetVariable('JE_MALLOC_CONF', ALLOCATOR);
  const format = chooseFormat(options);
  return withStore(async (store, { coordinator, isShared }) => {
    await createAdmin(store).apps.require(options.app);
    const { nameLimits, redaction } = new Config();
    const writer = RequestsWriter.create(store, coordinator, nameLimits, new Redactor(redaction));
    // If this process is the only writer, no incomplete batch is in flight elsewhere.
    const recovery = await writer.recover(isShared ? ABANDONED_AFTER_SECONDS : 0);
    for (const [batch, reason] of recovery.rejected)
      printMessage(`batch ${batch} cannot be completed: ${String(reason)}`);
    const { read, imported, duplicates, rejected, logged } = await importPaths(
      paths,
      { ...options, format },
      writer,
    ).finally(async () => {
      await writer.close();
      // What is not removed now the engine removes later, so a failure is none of the import.
      if (!isShared) await writer.removeReplaced().catch(() => undefined);
    });
    return { read, imported, duplicates, rejected, logged };
  });
}

/** The options with their format parsed. */
type ReadyOptions = Omit<ImportFilesOptions, 'format' | 'map'> & { readonly format: FormatChoice };

function chooseFormat({ format, map }: ImportFilesOptions): FormatChoice {
  try {
    return parseFormatChoice(format, map);
  } catch (error) {
    throw error instanceof RangeError ? new AdminError(`--${error.message}`) : error;
  }
}

async function importPaths(
  paths: readonly string[],
  options: ReadyOptions,
  writer: RequestsWriter,
): Promise<ImportSummary> {
  const stop = new StopSignal();
  try {
    if (paths[0] !== STANDARD_INPUT)
      return await importFiles(await findSourceFiles(paths, options.format), options, writer, stop);
    if (options.shiftTo === undefined)
      return await importFiles([{ path: STANDARD_INPUT, bytes: null }], options, writer, stop);
    return await importStoredInput(options, writer, stop);
  } finally {
    stop.close();
  }
}

/** Standard input is stored first: if the last time shifts all others, the lines are read twice. */
async function importStoredInput(
  options: ReadyOptions,
  writer: RequestsWriter,
  stop: StopSignal,
): Promise<ImportSummary> {
  const directory = await mkdtemp(join(tmpdir(), 'request-analytics-import-'));
  try {
    const path = join(directory, 'standard-input');
    await pipeline(process.stdin, createWriteStream(path), { signal: stop.signal }).catch(
      (error: unknown) => {
        throw stop.signal.aborted ? stop.createError('before the first line. Nothing was imported.') : error;
      },
    );
    const { size } = await stat(path);
    return await importFiles([{ path, bytes: size, isFinished: true }], options, writer, stop);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function importFiles(
  files: readonly SourceFile[],
  options: ReadyOptions,
  writer: RequestsWriter,
  stop: StopSignal,
): Promise<ImportSummary> {
  if (files.length === 1 && files[0]?.error) throw files[0].error;
  const { app, env, source, format, baseUrl, consumerFrom, trustForwarded, shiftTo } = options;
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
    trustForwarded,
    shiftMs,
    batch: IMPORT_BATCH,
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
      const before = results.at(-1);
      results.push(await importFile(file, label, importer, { rejects, progress, stop, before, format }));
    }
  } finally {
    // Also after a truncated source or a failed last batch, because earlier batches are in the store.
    const end = importer.end();
    const isStored = await end.then(
      () => true,
      () => false,
    );
    progress.stop();
    rejects?.close();
    const { summary } = importer;
    const profile = importer.profile.summarize();
    const formats = [
      ...new Set(results.map((result) => result.format).filter((result) => result !== undefined)),
    ];
    // If all lines are invalid, there is no profile.
    const shownProfile = profile.from === null ? {} : { format: formats.join(', '), ...profile };
    printResult({ ...summary, ...shownProfile, ...(files.length > 1 && { files: results.map(toFigures) }) });
    const requests = summary.read - summary.rejected;
    for (const line of adviseOnImport({ ...profile, app, formats, requests, baseUrl }, new Config()))
      printForPeople(line);
    // A failed import has no result of the file at which it failed.
    const isWhole =
      isStored &&
      results.length === files.length &&
      !results.some((result) => result.error ?? result.isStopped);
    report(summary, importer.rejectedLines.list(), isWhole);
    await end;
  }
  checkResults(files, results, importer.summary, stop);
  return importer.summary;
}

async function importFile(
  { path, error, isForeign, isFinished }: SourceFile,
  label: string | undefined,
  importer: Importer,
  {
    rejects,
    progress,
    stop,
    before,
    format,
  }: {
    rejects: RejectsFile | undefined;
    progress: Progress;
    stop: StopSignal;
    /** The result of the file before. */
    before: FileResult | undefined;
    format: FormatChoice;
  },
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
      if (result.lastLine === undefined) joinDividedLine(before, lines, format);
      await importer.add(lines);
      result.lastLine = lines.at(-1)?.number;
      progress.update(lineSource.bytesRead, importer.summary.read);
    }
    if (lineSource.isStopped) result.isStopped = true;
    result.lastLineLeftOut = lineSource.lastLineLeftOut;
    result.hasTrailingBytes = lineSource.hasTrailingBytes;
    progress.endFile(lineSource.bytesRead);
  } catch (failure) {
    if (!(failure instanceof LineSourceError)) throw failure;
    result.error = failure;
  }
  return { ...result, format: importer.format };
}

/** Joins a line that a rotation divided: the end of the file before, and the beginning of this one. */
function joinDividedLine(before: FileResult | undefined, lines: SourceLine[], format: FormatChoice) {
  const [first] = lines;
  const half = before?.lastLineLeftOut ?? null;
  if (!before || half === null || typeof first?.text !== 'string') return;
  const isRequest = (text: string) => {
    const parsed = new LineParser(format).parse(text);
    return parsed !== null && 'record' in parsed;
  };
  const text = half + first.text;
  if (isRequest(first.text) || !isRequest(text)) return;
  lines[0] = { ...first, text };
  before.lastLineLeftOut = null;
}

async function shiftFor(
  files: readonly SourceFile[],
  target: number,
  format: FormatChoice,
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

function sumBytes(files: readonly SourceFile[]): number | null {
  const sizes = files.map(({ bytes, isForeign }) => (isForeign ? 0 : bytes));
  return sizes.reduce((sum, size) => (sum === null || size === null ? null : sum + size), 0);
}
