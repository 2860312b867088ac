import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { SocketConnection } from '../../src/coordination/socket/socket.connection.js';
import { Config } from '../../src/config/config.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { openMigrated } from './schema.js';

/** What is in a prepared store. */
export interface Prepared {
  key: string;
  teamId: number;
  appId: number;
  clientId: string;
}

/** A team with a key and an app with requests of the last hour, in the store that the variables name. */
export async function prepare(env: NodeJS.ProcessEnv, requests = 20): Promise<Prepared> {
  const store = await openMigrated(new Config(env));
  try {
    const admin = createAdmin(store);
    const { id: teamId } = await admin.teams.create('Acme', 'premium');
    const { key } = await admin.keys.create(teamId);
    const { id: appId, client_id: clientId } = await admin.apps.create(teamId, 'Shop', 'express');
    const now = Date.now();
    const records = Array.from({ length: requests }, (_, n) =>
      buildRequest({ timestamp: now - 60_000 - n * 1000 }),
    );
    const writer = RequestsWriter.create(store);
    await writer.write(appId, records);
    await writer.close();
    return { key, teamId, appId, clientId };
  } finally {
    await store.close();
  }
}

/**
 * Administers the store of the server that has the data directory open, through its socket, as a command
 * does.
 */
export async function administer<Result>(
  env: NodeJS.ProcessEnv,
  work: (admin: Admin, store: ClickHouse) => Promise<Result>,
): Promise<Result> {
  const config = new Config(env);
  const connection = await SocketConnection.connect(config.dataDir);
  if (!connection) throw new Error(`no server has ${config.dataDir} open`);
  const store = ClickHouse.openSocket(config, connection);
  return work(createAdmin(store), store).finally(() => store.close());
}

/** A data directory of the embedded engine of a test's own. */
export function dataDirectory(): { env: NodeJS.ProcessEnv; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-'));
  return {
    env: { DATA_DIR: directory },
    remove: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
