import { Injectable } from '@nestjs/common';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { StoreMonitor } from '../clickhouse/store-monitor.js';
import { CachedLookup } from '../common/cached-lookup.js';
import { Config } from '../config/config.js';

/** The app behind a client ID. */
export interface ClientApp {
  id: number;
  team_id: number;
  framework: string;
  /** The collector rejects its messages. */
  disabled: boolean;
}

const CLIENT_IDS_TTL_MS = 1_000;
const CLIENT_IDS = 'SELECT client_id FROM apps_v1 FINAL';
const FIND = `SELECT id, team_id, framework, disabled FROM apps_v1 FINAL WHERE client_id = {client_id:UUID}`;
/** A change inserts the whole row again, copied inside the engine with the new value. */
const SET_FRAMEWORK = `
INSERT INTO apps_v1 (id, team_id, name, framework, client_id, disabled, created_at)
SELECT id, team_id, name, {framework:String}, client_id, disabled, created_at
FROM apps_v1 FINAL
WHERE team_id = {team_id:UInt32} AND id = {id:UInt32} AND framework != {framework:String}`;

/** Apps by client ID, cached for a few seconds; a missing app is never cached. */
@Injectable()
export class ClientApps {
  private readonly cache: CachedLookup<ClientApp | undefined>;
  private readonly clientIds = new CachedLookup<Set<string>>(CLIENT_IDS_TTL_MS);

  constructor(
    private readonly store: ClickHouse,
    private readonly monitor: StoreMonitor,
    { cacheTtlMs }: Config,
  ) {
    this.cache = new CachedLookup(cacheTtlMs);
  }

  /** The app; undefined if the store has none with this client ID. */
  find(clientId: string): Promise<ClientApp | undefined> {
    return this.cache.find(clientId, () => this.load(clientId));
  }

  /** Whether the cache has the app; does not query the store. */
  isKnown(clientId: string): boolean {
    return this.cache.peek(clientId) !== undefined;
  }

  /** Whether an app has this client ID, by a list that is at most a second old, so that a flood needs no queries. */
  async exists(clientId: string): Promise<boolean> {
    return (await this.findClientIds()).has(clientId);
  }

  /**
   * The reason why the store's apps are not reliable; null if they are. A store without any app may be a new one, created
   * in the wrong place.
   */
  async whyUncertain(): Promise<string | null> {
    if (this.monitor.hasDamaged('apps_v1')) return 'apps were lost to damage of the store';
    const { size } = await this.findClientIds();
    return size > 0 ? null : 'the store has no app; is it the right one (DATA_DIR, CLICKHOUSE_URL)?';
  }

  /** Updates the app's framework if it changed. */
  async updateFramework({ id, team_id }: ClientApp, framework: string): Promise<void> {
    const name = 'apps.set_framework';
    await this.store.command(SET_FRAMEWORK, { id, team_id, framework }, { name, operation: 'INSERT' });
  }

  private findClientIds(): Promise<Set<string>> {
    return this.clientIds.find('', async () => {
      const rows = await this.store.rows<{ client_id: string }>('client_apps.client_ids', CLIENT_IDS);
      return new Set(rows.map(({ client_id }) => client_id));
    });
  }

  private async load(clientId: string): Promise<ClientApp | undefined> {
    const [app] = await this.store.rows<ClientApp>('client_apps.find', FIND, { client_id: clientId });
    return app;
  }
}
