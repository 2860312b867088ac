import { Injectable } from '@nestjs/common';
import { createCache } from '../../shared/create-cache.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { StoreMonitor } from '../../store/health/store-monitor.js';
import { CredentialLookup } from '../credential-lookup.js';
import { Config } from '../../config/config.js';

/** The app behind a client ID. */
export interface ClientApp {
  id: number;
  team_id: number;
  framework: string;
  /** The collector rejects its messages. */
  disabled: boolean;
  /** GraphQL operations are told apart. */
  graphql: boolean;
}

const CLIENT_IDS = 'SELECT client_id FROM apps_v1 FINAL';
const FIND = `SELECT id, team_id, framework, disabled, graphql FROM apps_v1 FINAL WHERE client_id = {client_id:UUID}`;
/**
 * A change inserts the whole row again, copied inside the engine with the new value. The new version is
 * slightly above the version of the copied row. So a simultaneous change by an operator replaces it, because
 * that version is the current time.
 */
const SET_FRAMEWORK = `
INSERT INTO apps_v1 (id, team_id, name, framework, client_id, disabled, graphql, created_at, updated_at)
SELECT id, team_id, name, {framework:String}, client_id, disabled, graphql, created_at, updated_at + INTERVAL 1 MICROSECOND
FROM apps_v1 FINAL
WHERE team_id = {team_id:UInt32} AND id = {id:UInt32} AND framework != {framework:String}`;

/** Applications of different frameworks that send for one app would rewrite its row with every message. */
const FRAMEWORK_INTERVAL_MS = 600_000;

/** Apps by client ID, cached for a few seconds; a missing app is never cached. */
@Injectable()
export class ClientApps {
  /** Undefined: no app has this client ID. */
  readonly lookup: CredentialLookup<ClientApp | undefined>;
  /** IDs of recently updated apps. */
  private readonly updated = createCache<number, true>(10_000, { ttl: FRAMEWORK_INTERVAL_MS });

  constructor(
    private readonly store: ClickHouse,
    private readonly monitor: StoreMonitor,
    { cacheTtlMs }: Config,
  ) {
    this.lookup = new CredentialLookup(cacheTtlMs, {
      load: async (client_id) => {
        const [app] = await store.rows<ClientApp>('client_apps.find', FIND, { client_id });
        return app;
      },
      listIdentifiers: async () => {
        const rows = await store.rows<{ client_id: string }>('client_apps.client_ids', CLIENT_IDS);
        return rows.map(({ client_id }) => client_id);
      },
    });
  }

  /**
   * The reason why an unknown client ID proves nothing; null if it does. A store without any app may be a new
   * store that was created in the wrong place.
   */
  async explainUncertainty(): Promise<string | null> {
    if (this.monitor.hasDamaged('apps_v1')) return 'apps were lost to damage of the store';
    const { size } = await this.lookup.listIdentifiers();
    return size > 0 ? null : 'the store has no app; is it the right one (DATA_DIR, CLICKHOUSE_URL)?';
  }

  /** Updates the app's framework if it changed, at most every ten minutes. */
  async updateFramework({ id, team_id }: ClientApp, framework: string): Promise<void> {
    if (this.updated.has(id)) return;
    const name = 'apps.set_framework';
    await this.store.command(SET_FRAMEWORK, { id, team_id, framework }, { name, operation: 'INSERT' });
    this.updated.set(id, true);
  }
}
