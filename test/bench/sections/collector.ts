import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import { ROOT } from '../workspace.js';

const SCRIPT = fileURLToPath(new URL('../collector/throughput.js', import.meta.url));

/** Rates per second of processor time: one core's, engine and merges included. */
export interface CollectorRate {
  messages_per_second: number;
  rows_per_second: number;
  /** The same rows inserted into the same landing tables by the client alone, in blocks of 10,000. */
  plain_rows_per_second: number;
  ratio: number;
}

/** Messages with counts of ten endpoints each, and files with ten logged requests each. */
export type CollectorRates = Record<'sync' | 'log', CollectorRate>;

/** How fast one core of the collector takes messages, in a process and a store of its own. */
export async function measureCollector(options: Options): Promise<CollectorRates | undefined> {
  if (!wants(options, 'collector')) return undefined;
  progress('collector');
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT], { cwd: ROOT });
  return JSON.parse(stdout) as CollectorRates;
}
