import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { LocalCoordinator, type WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { ApiKeysAdmin } from './api-keys.admin.js';
import { AppsAdmin } from './apps.admin.js';
import { DocumentsAdmin } from './documents.admin.js';
import { EndpointsAdmin } from './endpoints.admin.js';
import { ReleasesAdmin } from './releases.admin.js';
import { RowChanges } from './row-change.js';
import { TeamsAdmin } from './teams.admin.js';
import { WriteTokensAdmin } from './write-tokens.admin.js';

export type Admin = ReturnType<typeof createAdmin>;

/**
 * Administration of a store. Not reachable over HTTP.
 *
 * @param coordinator of everything that changes the store; left out if nothing else does
 */
export function createAdmin(store: ClickHouse, coordinator: WriterCoordinator = new LocalCoordinator()) {
  const changes = new RowChanges(store, coordinator);
  const teams = new TeamsAdmin(store, changes);
  const apps = new AppsAdmin(store, changes, teams);
  return {
    teams,
    apps,
    keys: new ApiKeysAdmin(store, changes, teams),
    writeTokens: new WriteTokensAdmin(store, changes, apps),
    endpoints: new EndpointsAdmin(store, changes, apps),
    releases: new ReleasesAdmin(store, apps),
    documents: new DocumentsAdmin(store, coordinator, apps),
  };
}
