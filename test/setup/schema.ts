import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { migrate } from '../../src/store/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { RUN_VARIABLE } from './secrets/global-setup.js';

/**
 * Gives a store this version's schema. An empty data directory becomes a copy of one that the run migrates
 * once, its generated secrets included: two stores that must differ in them are migrated.
 */
export async function addSchema(config: Config): Promise<void> {
  const run = process.env[RUN_VARIABLE];
  const isEmpty = !existsSync(config.dataDir) || readdirSync(config.dataDir).length === 0;
  if (run === undefined || config.clickhouse.url !== undefined || !isEmpty) {
    await migrateStore(config);
    return;
  }
  const template = join(run, 'schema');
  if (!existsSync(template)) await createTemplate(template);
  copyStore(template, config.dataDir);
}

/** Copies the data directory of a store that no process has open. */
export function copyStore(from: string, to: string): void {
  // Node.js 24 would make it readable by everyone.
  mkdirSync(to, { recursive: true, mode: 0o700 });
  // Verbatim: the directory of the metadata is a link, which would lead to the original.
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

/** Opens a store with this version's schema. */
export async function openMigrated(config: Config): Promise<ClickHouse> {
  await addSchema(config);
  return ClickHouse.open(config);
}

async function createTemplate(template: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  await migrateStore(new Config({ DATA_DIR: directory }));
  try {
    renameSync(directory, template);
  } catch (error) {
    // Another worker was faster.
    if (!existsSync(template)) throw error;
    rmSync(directory, { recursive: true });
  }
}

async function migrateStore(config: Config): Promise<void> {
  const store = await ClickHouse.open(config);
  await migrate(store).finally(() => store.close());
}
