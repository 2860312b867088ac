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
import { Importer, type ImportSummary, latestTimestamp } from '../ingestion/importer.js';
import { LineSource } from '../ingestion/line-source.js';
import { REQUEST_FORMATS, type RequestFormat } from '../ingestion/request-format.js';
import { RequestsWriter } from '../ingestion/requests.writer.js';
import { SharedRedis } from '../ingestion/shared-redis.js';
import { type AuditTarget, audited } from './audit.js';
import { ImportProgress } from './import-progress.js';
import { id, time } from './options.js';
import { print, tell } from './output.js';
import { withStore } from './with-store.js';

interface ImportCommandOptions {
  app: number;
  env: string;
  format?: RequestFormat;
  /** Milliseconds since the epoch. */
  shiftTo?: number;
}

const STANDARD_INPUT = '-';
/** How far the heap may grow before it is collected again: lines are garbage soon, and the engine needs the room. */
const HEAP_GROWING = '--heap-growing-percent=40';

export function importCommand(program: Command): void {
  program
    .command('import')
    .description(
      'bring requests from a file into the store; can be repeated, what is there already is left alone',
    )
    .argument('<file>', 'NDJSON or an Apache/nginx combined log, plain or gzip; - for standard input')
    .requiredOption('--app <id>', 'app ID', id)
    .option('--env <name>', 'environment of the requests that name none', env, 'prod')
    .addOption(new Option('--format <format>', 'format; guessed when not given').choices(REQUEST_FORMATS))
    .option('--shift-to <iso|now>', 'move all times so that the last request is at this one', shiftTarget)
    .action((file: string, options: ImportCommandOptions) =>
      audited('import', { app_id: options.app, env: options.env }, () => run(file, options)),
    );
}

function run(file: string, options: ImportCommandOptions): Promise<AuditTarget> {
  setFlagsFromString(HEAP_GROWING);
  return withStore(async (store) => {
    await new AdminService(store).requireApp(options.app);
    const config = new Config();
    const redis = SharedRedis.of(config);
    try {
      const writer = new RequestsWriter(store, redis, config.nameLimits);
      // Without Redis this process is the only one that writes, so nothing that is unfinished is under way elsewhere.
      const { refused } = await writer.recover(redis ? ABANDONED_AFTER_SECONDS : 0);
      for (const [batch, why] of refused) tell(`batch ${batch} cannot be completed: ${String(why)}`);
      return { ...(await importFile(file, options, writer)) };
    } finally {
      redis?.close();
    }
  });
}

async function importFile(
  file: string,
  options: ImportCommandOptions,
  writer: RequestsWriter,
): Promise<ImportSummary> {
  if (file !== STANDARD_INPUT || options.shiftTo === undefined) return importFrom(file, options, writer);
  // The last time is known only at the end, so that the lines are needed twice.
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
  const { app, env, format, shiftTo } = options;
  const shiftMs = shiftTo === undefined ? 0 : await shiftFor(file, shiftTo, format);
  const importer = new Importer(writer, { appId: app, env, format, shiftMs, now: Date.now() });
  const source = await LineSource.open(file);
  const progress = new ImportProgress(source.totalBytes);
  try {
    for await (const lines of source) {
      await importer.add(lines);
      progress.update(source.bytesRead, importer.summary.read);
    }
  } finally {
    // Also of a source that broke off: what was read of it is in the store.
    const summary = await importer.end().finally(() => {
      progress.stop();
    });
    print(summary);
    for (const { number, reason } of importer.rejected) tell(`line ${number} rejected: ${reason}`);
    const untold = summary.rejected - importer.rejected.length;
    if (untold > 0) tell(`and ${untold} more rejected`);
  }
  return importer.summary;
}

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
  if (!/^[\w-]{1,32}$/.test(value))
    throw new InvalidArgumentError('It must be 1 to 32 letters, digits, hyphens or underscores.');
  return value;
}
