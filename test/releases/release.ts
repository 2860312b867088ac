import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'lossless-json';
import type { Piece } from '../../src/write/batch-log.js';
import { ProductProcess } from '../setup/product-process.js';

const DIRECTORY = 'test/fixtures/releases';

/** A response that a release gave; 64-bit integers keep their digits. */
export interface Answer {
  path: string;
  body: unknown;
}

/** What a release wrote, and what it said of it. Its data directory is packed in `data.tar.gz` beside it. */
export interface Release {
  /** Migrations by file name, with the SHA-256 of each file. */
  migrations: Record<string, string>;
  /** The key that may read, and one that was revoked. */
  key: string;
  revokedKey: string;
  /** Each operation, on the data in the directory. */
  answers: Answer[];
  /** A batch as the release appends it to its write-ahead log, and the request that is in it. */
  batch: { id: string; pieces: Piece[]; request: Answer };
}

export function versionsOfReleases(): string[] {
  return readdirSync(DIRECTORY);
}

export function directoryOfRelease(version: string): string {
  return join(DIRECTORY, version);
}

export function readRelease(version: string): Release {
  return parse(readFileSync(join(directoryOfRelease(version), 'release.json'), 'utf8')) as Release;
}

/** Unpacks the data directory of a release into one that exists. */
export function unpackRelease(version: string, directory: string): void {
  execFileSync('tar', ['-xzf', join(directoryOfRelease(version), 'data.tar.gz'), '-C', directory]);
}

/** Serves a data directory, in a process whose clock shows the day behind the requests of the fixtures. */
export function serve(env: NodeJS.ProcessEnv): Promise<ProductProcess> {
  const clock = new URL('./clock.js', import.meta.url).href;
  return ProductProcess.start(['serve'], { ...env, NODE_OPTIONS: `--import ${clock}` });
}

/** The body of a response to GET, or `HTTP 404` and the like where there is none. */
export async function call({ apiUrl }: ProductProcess, path: string, key: string): Promise<unknown> {
  const response = await fetch(apiUrl + path, { headers: { 'Api-Key': key } });
  const text = await response.text();
  return response.status === 200 ? parse(text) : `HTTP ${response.status}`;
}
