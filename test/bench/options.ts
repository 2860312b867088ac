import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseRows } from './dataset/shape.js';

export interface Options {
  /** Rows of the data set. */
  rows: number;
  /** Rows of the exports; undefined: those of the largest app. */
  exportRows?: number | undefined;
  /** PostgreSQL and DuckDB as well. */
  peers: boolean;
  /** Only what has one of these in its ID; empty: all. */
  only: string[];
  /** Keeps the data sets for the next run. */
  keep: boolean;
  /** Where data is put. */
  directory: string;
  /** Milliseconds for each operation. */
  budgetMs: number;
  /** Lines of the import. */
  importLines: number;
  /** Lines of each import beside known requests, and of each of the programs side by side. */
  lines: number;
  /** Known requests of the stores in which imports are measured; the others are compared to the first. */
  knownCounts: number[];
}

const USAGE = `npm run bench -- [options]
  --rows 1m|10m|30m   rows of the request logs (default 10m)
  --export-rows <n>   rows of the exports, without counts (default: those of the largest app)
  --peers             the same questions to PostgreSQL and DuckDB
  --only <part,…>     only operations and sections whose ID contains one of the parts
  --keep              keep the data for the next run (it is used for six hours)
  --dir <directory>   where the data goes (default: a directory for temporary files)
  --seconds <n>       for each operation (default 4)
  --import-lines <n>  lines of the import (default 1m)
  --lines <n>         lines of the imports of "growth" and "side-by-side" (default 200k)
  --known <n,…>       requests that the stores of "growth" know (default 0,1m,8m,30m)`;

const OPTIONS = {
  rows: { type: 'string', default: '10m' },
  'export-rows': { type: 'string' },
  peers: { type: 'boolean', default: false },
  only: { type: 'string', default: '' },
  keep: { type: 'boolean', default: false },
  dir: { type: 'string', default: join(tmpdir(), 'request-analytics-bench') },
  seconds: { type: 'string', default: '4' },
  'import-lines': { type: 'string', default: '1m' },
  lines: { type: 'string', default: '200k' },
  // oxlint-disable-next-line id-denylist -- the name of the option
  known: { type: 'string', default: '0,1m,8m,30m' },
} as const;

/** What was asked for cannot be understood; `message` says what, and how it goes. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  constructor(why: string) {
    super(`${why}\n\n${USAGE}`);
  }
}

/** @throws UsageError when an option is not one of those above. */
export function readOptions(args: string[]): Options {
  const values = parsed(args);
  return {
    rows: counted('--rows', values.rows),
    exportRows:
      values['export-rows'] === undefined ? undefined : counted('--export-rows', values['export-rows']),
    peers: values.peers,
    only: values.only.split(',').filter((part) => part !== ''),
    keep: values.keep,
    directory: values.dir,
    budgetMs: Number(values.seconds) * 1000,
    importLines: counted('--import-lines', values['import-lines']),
    lines: counted('--lines', values.lines),
    knownCounts: values.known.split(',').map((text) => (text === '0' ? 0 : counted('--known', text))),
  };
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Whether `--only` wants what has this ID. */
export function wants({ only }: Options, id: string): boolean {
  return only.length === 0 || only.some((part) => id.includes(part));
}

function counted(option: string, text: string): number {
  const count = parseRows(text);
  if (count === undefined) throw new UsageError(`${option}: a number and k or m, as in 10m`);
  return count;
}
