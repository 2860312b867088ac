import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildHandlers } from './dataset/build.js';
import { Child } from './rpc.js';

/** Compiled: the repository is two levels above this file's directory. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const USABLE_FOR_MS = 6 * 3_600_000;
const MINUTE_MS = 60_000;

interface Manifest {
  fingerprint: string;
  /** The newest time in the data, milliseconds since the epoch. */
  anchor: number;
}

/** A data set in a directory of its own, with room beside it for the same rows in other databases. */
export interface DataSet {
  rows: number;
  /** Whether the app for exports has rows. */
  hasExportRows: boolean;
  anchor: number;
  directory: string;
  /** The embedded engine's. */
  dataDir: string;
}

export class Workspace {
  constructor(readonly directory: string) {
    mkdirSync(directory, { recursive: true });
    // Another user may run PostgreSQL, and reads what is exported here.
    chmodSync(directory, 0o755);
  }

  /** A file of this run. */
  file(name: string): string {
    return join(this.directory, name);
  }

  /** The data set of `rows` rows: the one that is kept, when it is of this very code and not too old. */
  async dataSet(rows: number, exportRows?: number): Promise<DataSet> {
    const directory = this.file(
      exportRows === undefined ? `rows-${rows}` : `rows-${rows}-exports-${exportRows}`,
    );
    const dataSet = (anchor: number) => ({
      rows,
      hasExportRows: exportRows !== undefined,
      anchor,
      directory,
      dataDir: join(directory, 'clickhouse'),
    });
    const kept = readManifest(directory);
    const fingerprint = currentFingerprint();
    if (kept?.fingerprint === fingerprint && Date.now() - kept.anchor < USABLE_FOR_MS)
      return dataSet(kept.anchor);
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    const anchor = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const made = dataSet(anchor);
    const builder = await Child.start<BuildHandlers>('./dataset/build.js', {
      env: { DATA_DIR: made.dataDir },
      log: this.file('build.log'),
    });
    await builder.call('build', rows, anchor, exportRows);
    await builder.stop();
    writeFileSync(
      join(directory, 'manifest.json'),
      JSON.stringify({ fingerprint, anchor } satisfies Manifest),
    );
    return made;
  }

  remove() {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function readManifest(directory: string): Manifest | undefined {
  const file = join(directory, 'manifest.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : undefined;
}

/** What the content of a data set depends on: the schema and the statements that fill it. */
function currentFingerprint(): string {
  const hash = createHash('sha256');
  for (const directory of [join(ROOT, 'clickhouse/migrations'), join(ROOT, 'dist-bench/test/bench/dataset')])
    for (const name of readdirSync(directory).sort())
      if (!name.endsWith('.map')) hash.update(name).update(readFileSync(join(directory, name)));
  return hash.digest('hex');
}
