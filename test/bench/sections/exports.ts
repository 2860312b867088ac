import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { EXPORT_APP, HOT_APP, TEAM_KEY } from '../dataset/shape.js';
import { computeStats } from '../load/stats.js';
import { readMemory, readProcessorSeconds } from '../machine.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import type { Service } from '../service.js';
import type { DataSet } from '../workspace.js';

const FORMATS = ['ndjson', 'csv', 'arrow', 'parquet', 'har'] as const;
const PAGE = 'page-100-day';
const ROUND_MS = 6_000;
const MEMORY_EVERY_MS = 100;
/**
 * Reads an export in a process of its own, so that only the service delays the pages that are timed
 * meanwhile.
 */
const READ = `
const [port, key, path, body] = process.argv.slice(1);
const outgoing = require('node:http').request({ port, method: 'POST', path, headers: { 'Api-Key': key } });
outgoing.on('response', (response) => {
  process.stdout.write('begun');
  response.resume();
}).end(body);`;

const path = (app: number) => `/v1/apps/${app}/request-logs`;
const body = (format: string) => JSON.stringify({ since: '1970-01-01', format });

/** One export of all that an app has. */
interface Export {
  format: string;
  rows: number;
  bytes: number;
  rowsPerSecond: number;
  /** Rows in a second of one core's time, the engine's and the service's. */
  rowsPerProcessorSecond: number;
  firstByteMs: number;
  /** The most resident memory of the server meanwhile, in MB. */
  peakMb: number;
}

export interface Exports {
  formats: Export[];
  /** A page's p95 by itself and beside a running export; milliseconds. */
  pageAloneP95: number;
  pageBesideP95: number;
}

export async function measureExports(
  service: Service,
  options: Options,
  { hasExportRows }: DataSet,
): Promise<Exports | undefined> {
  const page = service.cases().find(({ id }) => id === PAGE);
  if (!page || !wants(options, 'exports')) return undefined;
  const app = hasExportRows ? EXPORT_APP : HOT_APP;
  const formats: Export[] = [];
  for (const format of FORMATS) {
    progress(`export as ${format}`);
    formats.push(await measureExport(service, app, format));
  }
  progress('a page beside an export');
  const pageAloneP95 = computeStats(await service.httpRound(page, 1, ROUND_MS)).p95;
  const reader = spawn(process.execPath, [
    '-e',
    READ,
    String(service.port),
    TEAM_KEY,
    path(app),
    body('ndjson'),
  ]);
  await once(reader.stdout, 'data');
  const pageBesideP95 = computeStats(await service.httpRound(page, 1, ROUND_MS)).p95;
  reader.kill();
  return { formats, pageAloneP95, pageBesideP95 };
}

async function measureExport(service: Service, app: number, format: string): Promise<Export> {
  const { pid } = service.server;
  let peakMb = 0;
  const ended = new AbortController();
  const watching = (async () => {
    for (;;) {
      peakMb = Math.max(peakMb, readMemory(pid).rssMb);
      await wait(MEMORY_EVERY_MS, undefined, { signal: ended.signal });
    }
  })().catch(() => undefined);
  const [startedAt, processorBefore] = [performance.now(), readProcessorSeconds(pid)];
  const { rows, bytes, firstByteMs } = await exportAll(service, app, format);
  const seconds = (performance.now() - startedAt) / 1_000;
  const processorSeconds = readProcessorSeconds(pid) - processorBefore;
  ended.abort();
  await watching;
  return {
    format,
    rows,
    bytes,
    rowsPerSecond: rows / seconds,
    rowsPerProcessorSecond: rows / processorSeconds,
    firstByteMs,
    peakMb,
  };
}

/** Reads an export and keeps nothing of it. */
async function exportAll({ port }: Service, app: number, format: string) {
  const startedAt = performance.now();
  const outgoing = request({
    port,
    method: 'POST',
    path: path(app),
    headers: { 'Api-Key': TEAM_KEY, TE: 'trailers' },
  });
  outgoing.end(body(format));
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  if (incoming.statusCode !== 200) throw new Error(`export: ${incoming.statusCode}`);
  let [bytes, firstByteMs] = [0, NaN];
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    if (bytes === 0) firstByteMs = performance.now() - startedAt;
    bytes += chunk.length;
  }
  return { rows: Number(incoming.trailers['x-row-count']), bytes, firstByteMs };
}
