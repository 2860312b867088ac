import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { Config } from '../../../src/config/config.js';
import { ClickHouseServer } from '../../setup/clickhouse-server/clickhouse-server.js';

/** A store of a test's own on a server that can be stopped, and the variables to reach it. */
export async function startServer(): Promise<{ server: ClickHouseServer; env: NodeJS.ProcessEnv }> {
  const server = await ClickHouseServer.start();
  const env = { CLICKHOUSE_URL: server.url, CLICKHOUSE_DATABASE: 'collected' };
  const store = await ClickHouse.open(new Config(env), { database: '' });
  await store.command('CREATE DATABASE collected').finally(() => store.close());
  return { server, env };
}
