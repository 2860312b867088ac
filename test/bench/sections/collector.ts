import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import { ROOT } from '../workspace.js';

/** Rates per second of processor time: one core's, engine and merges included. */
interface CollectorRate {
  messages_per_second: number;
  rows_per_second: number;
  /** The same rows inserted into the same landing tables by the client alone, in blocks of 10,000. */
  plain_rows_per_second: number;
  ratio: number;
}

/**
 * Rates of OTLP per second of processor time, for bodies of 512 spans: 128 requests with three more spans
 * each.
 */
export interface OtlpRate {
  /** Until the rows are encoded: decoding, parsing and encoding, without HTTP and the store. */
  parsed_spans_per_second: number;
  /** Through the collector into the store, engine and merges included. */
  stored_spans_per_second: number;
  stored_requests_per_second: number;
  /** The same for bodies with 512 requests and no other spans. */
  stored_requests_alone_per_second: number;
}

/**
 * Messages with counts of ten endpoints each, and files with ten logged requests each; OTLP bodies of spans.
 */
export interface CollectorRates {
  hub?: Record<'sync' | 'log', CollectorRate>;
  otlp?: OtlpRate;
}

/** How fast one core of the collector takes messages, in a process and a store of its own. */
export async function measureCollector(options: Options): Promise<CollectorRates> {
  const rates: CollectorRates = {};
  if (wants(options, 'collector-hub')) rates.hub = await run<Record<'sync' | 'log', CollectorRate>>('hub');
  if (wants(options, 'collector-otlp')) rates.otlp = await run<OtlpRate>('otlp');
  return rates;
}

async function run<Rates>(part: 'hub' | 'otlp'): Promise<Rates> {
  progress(`collector, ${part}`);
  const script = fileURLToPath(new URL(`../collector/${part}.js`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: ROOT });
  return JSON.parse(stdout) as Rates;
}
