import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { AdminService } from '../admin/admin.service.js';
import { Config } from '../config/config.js';
import { ABANDONED_AFTER_SECONDS } from '../ingestion/batch-log.js';
import { type ImportSummary, Importer, latestTimestamp } from '../ingestion/files/importer.js';
import { SOURCE_RULE, isSource } from '../ingestion/files/line-identity.js';
import { LineSource } from '../ingestion/files/line-source.js';
import type { RejectedLines } from '../ingestion/files/rejected-lines.js';
import { envDecoder } from '../ingestion/formats/request-decoders.js';
import { REQUEST_FORMATS, type RequestFormat } from '../ingestion/formats/request-format.js';
import { Redactor } from '../ingestion/redaction/redactor.js';
import { RequestsWriter } from '../ingestion/requests.writer.js';
import { type AuditTarget, runAudited } from './audit.js';
import { ImportProgress } from './import-progress.js';
import { id, time } from './options.js';
import { printMessage, printResult } from './output.js';
import { RejectsFile } from './rejects-file.js';
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

const STANDARD_INPUT = '-';
/** Growth of the heap before the next collection: lines become garbage soon, and the engine needs the memory. */
const HEAP_GROWING = '--heap-growing-percent=40';
const REASONS_SHOWN = 10;

const IDENTITY =
  'A request without request_uuid is identified by its environment, its source, the text of its line and how often that\n' +
  'text occurred before. If several nodes log for one app, set --source for each, because their lines can be equal.';
const EXAMPLES = `
Examples:
  request-analytics import access.log.gz --app 1
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
    .description('import requests from a file; can be repeated, requests already in the store are skipped')
    .argument(
      '<file>',
      'NDJSON or an access log, plain or compressed with gzip, zstd or bzip2; - for standard input',
    )
    .requiredOption('--app <id>', 'app ID', id)
    .option('--env <name>', 'environment of requests that name none', env, 'prod')
    .option('--source <name>', 'where the lines come from, such as the node that logged them', source, '')
    .addOption(new Option('--format <format>', 'format; detected by default').choices(REQUEST_FORMATS))
    .option('--base-url <url>', 'base of URLs that are only a path, as in access logs', baseUrl)
    .addOption(new Option('--consumer-from <field>', 'access log field with the consumer').choices(['user']))
    .option('--shift-to <iso|now>', 'move all times so that the last request is at this time', shiftTarget)
    .option('--rejects <file>', 'new file for the rejected lines, as they were')
    .addHelpText('after', EXAMPLES)
    .action((file: string, options: ImportCommandOptions) =>
      runAudited('import', { app_id: options.app, env: options.env }, () => run(file, options)),
    );
}

function run(file: string, options: ImportCommandOptions): Promise<AuditTarget> {
  setFlagsFromString(HEAP_GROWING);
  return withStore(async (store, { coordinator, isShared }) => {
    await new AdminService(store).requireApp(options.app);
    const { nameLimits, redaction } = new Config();
    const writer = RequestsWriter.create(store, coordinator, nameLimits, new Redactor(redaction));
    // If this process is the only writer, no incomplete batch is in flight elsewhere.
    const { refused } = await writer.recover(isShared ? ABANDONED_AFTER_SECONDS : 0);
    for (const [batch, why] of refused) printMessage(`batch ${batch} cannot be completed: ${String(why)}`);
    const { read, imported, duplicates, rejected, logged } = await importFile(file, options, writer).finally(
      () => writer.close(),
    );
    return { read, imported, duplicates, rejected, logged };
  });
}

async function importFile(
  file: string,
  options: ImportCommandOptions,
  writer: RequestsWriter,
): Promise<ImportSummary> {
  if (file !== STANDARD_INPUT || options.shiftTo === undefined) return importFrom(file, options, writer);
  // The last time is known only at the end, so the lines are read twice.
  const directory = await mkdtemp(join(tmpdir(), 'request-analytics-import-'));
  try {
    const copy = join(directory, 'standard-input');
    await pipeline(process.stdin, createWriteStream(copy));
    return await importFrom(copy, options, writer);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function importFrom(
  file: string,
  options: ImportCommandOptions,
  writer: RequestsWriter,
): Promise<ImportSummary> {
  const { app, env, source, format, baseUrl, consumerFrom, shiftTo } = options;
  const shiftMs = shiftTo === undefined ? 0 : await shiftFor(file, shiftTo, format);
  const now = Date.now();
  const importer = new Importer(writer, {
    appId: app,
    env,
    source,
    format,
    baseUrl,
    consumerFrom,
    shiftMs,
    now,
    onRejected: (line) => rejects?.add(line),
  });
  const lineSource = await LineSource.open(file, undefined, (piece) => rejects?.addPiece(piece));
  const rejects = options.rejects === undefined ? undefined : new RejectsFile(options.rejects);
  const progress = new ImportProgress(lineSource.totalBytes);
  try {
    for await (const lines of lineSource) {
      await importer.add(lines);
      progress.update(lineSource.bytesRead, importer.summary.read);
    }
  } finally {
    // Also for a truncated source: the lines before the end are in the store.
    const summary = await importer.end().finally(() => {
      progress.stop();
      rejects?.close();
    });
    printResult(summary);
    report(summary, importer.rejectedLines.list());
  }
  const { read, rejected } = importer.summary;
  if (read > 0 && rejected === read)
    throw new NothingImportedError(`nothing was imported: all lines were rejected (${count(read)})`);
  return importer.summary;
}

/** Prints the messages about an import, in addition to its numbers. */
function report(summary: ImportSummary, rejections: readonly RejectedLines[]) {
  const { imported, duplicates, ignored_members, over_limits } = summary;
  for (const { reason, count: lines, first } of rejections.slice(0, REASONS_SHOWN)) {
    const numbers = `${first.join(', ')}${lines > first.length ? ', …' : ''}`;
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

async function shiftFor(file: string, target: number, format?: RequestFormat): Promise<number> {
  const latest = await latestTimestamp(await LineSource.open(file), format);
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
