import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { ApiKeysAdmin } from './api-keys.admin.js';
import { AppsAdmin } from './apps.admin.js';
import { EndpointsAdmin } from './endpoints.admin.js';
import { TeamsAdmin } from './teams.admin.js';
import { WriteTokensAdmin } from './write-tokens.admin.js';

export type Admin = ReturnType<typeof createAdmin>;

/** Administration of a store. Not reachable over HTTP. */
export function createAdmin(store: ClickHouse) {
  const teams = new TeamsAdmin(store);
  const apps = new AppsAdmin(store, teams);
  return {
    teams,
    apps,
    keys: new ApiKeysAdmin(store, teams),
    writeTokens: new WriteTokensAdmin(store, apps),
    endpoints: new EndpointsAdmin(store, apps),
  };
}
