import type { Command } from 'commander';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { type Cluster, createDatabaseDdl } from '../../store/migrations/cluster-ddl.js';
import { migrate, readMigrations } from '../../store/migrations/migrate.js';
import { MigrationError } from '../../store/migrations/migration.error.js';
import { Config } from '../../config/config.js';
import { type AuditTarget, runAudited } from './audit.js';
import { examples } from './options.js';
import { printResult } from './output.js';
import { withStore } from './with-store.js';

export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the store to the schema of this version; can be repeated')
    .option('--cluster <name>', 'in replicated and distributed form, on every node of the cluster')
    .addHelpText('after', examples('migrate', 'migrate --cluster analytics'))
    .action(({ cluster }: { cluster?: string }) => runAudited('migrate', { cluster }, () => run(cluster)));
}

async function run(name: string | undefined): Promise<AuditTarget> {
  const config = new Config();
  const cluster = name === undefined ? undefined : toCluster(config, name);
  await createDatabase(config, cluster);
  const apply = async (store: ClickHouse) => {
    const applied = await migrate(store, undefined, cluster);
    const version = (await readMigrations()).length;
    printResult({ applied: applied.map(({ name }) => name), version });
    return { applied: applied.length, version };
  };
  return withStore(apply, { isPrepared: false });
}

/** On a server the database may not exist yet; the embedded engine creates its own. */
export async function createDatabase(config: Config, cluster?: Cluster): Promise<void> {
  if (config.clickhouse.url === undefined) return;
  const server = await ClickHouse.open(config, { database: '' });
  try {
    if (cluster) await server.command(createDatabaseDdl(cluster));
    else
      await server.command('CREATE DATABASE IF NOT EXISTS {database:Identifier}', {
        database: config.clickhouse.database,
      });
  } finally {
    await server.close();
  }
}

function toCluster({ clickhouse }: Config, name: string): Cluster {
  if (clickhouse.url === undefined)
    throw new MigrationError('A cluster needs servers: set CLICKHOUSE_URL to one of them.');
  return { name, database: clickhouse.database };
}
