import { MigrationError } from './migration.error.js';

/** Target of the clustered schema. Both names are part of statements, so they must be plain words. */
export interface Cluster {
  /** Name of the cluster in `remote_servers` of the servers' configuration. */
  name: string;
  database: string;
}

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/**
 * A statement of the clustered form with the names of the cluster and the database. `{shard}` and `{replica}`
 * stay: each server fills them in.
 *
 * @throws MigrationError if a name is not a plain word
 */
export function fillCluster(statement: string, { name, database }: Cluster): string {
  for (const identifier of [name, database])
    if (!IDENTIFIER.test(identifier))
      throw new MigrationError(
        `${identifier}: the name of a cluster or a database must be a plain identifier`,
      );
  return statement.replaceAll('{cluster}', name).replaceAll('{database}', database);
}

/** Creates the database on every node. */
export function createDatabaseDdl(cluster: Cluster): string {
  return fillCluster('CREATE DATABASE IF NOT EXISTS {database} ON CLUSTER {cluster}', cluster);
}
