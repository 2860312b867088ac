import type { Command } from 'commander';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { migrate, readMigrations } from '../clickhouse/migrate.js';
import { Config } from '../config/config.js';
import { print } from './output.js';

export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the store to the schema of this version; can be repeated')
    .action(async () => {
      const config = new Config();
      await createDatabase(config);
      const store = await ClickHouse.open(config);
      try {
        const applied = await migrate(store);
        print({ applied: applied.map(({ name }) => name), version: (await readMigrations()).length });
      } finally {
        await store.close();
      }
    });
}

/** On a server the database may not be there yet; the embedded engine has one of its own. */
export async function createDatabase(config: Config): Promise<void> {
  if (config.clickhouse.url === undefined) return;
  const server = await ClickHouse.open(config, { database: '' });
  try {
    await server.command('CREATE DATABASE IF NOT EXISTS {database:Identifier}', {
      database: config.clickhouse.database,
    });
  } finally {
    await server.close();
  }
}
