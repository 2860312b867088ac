import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { CachedLookup } from '../common/cached-lookup.js';
import { Config } from '../config/config.js';

/** The app behind a client ID. */
export interface ClientApp {
  id: number;
  team_id: number;
  framework: string;
  /** The collector takes nothing for it. */
  disabled: boolean;
}

const FIND = `SELECT id, team_id, framework, disabled FROM apps_v1 FINAL WHERE client_id = {client_id:UUID}`;
/** A changed row is the whole row again, copied inside the engine with the change in place. */
const SET_FRAMEWORK = `
INSERT INTO apps_v1 (id, team_id, name, framework, client_id, disabled, created_at)
SELECT id, team_id, name, {framework:String}, client_id, disabled, created_at
FROM apps_v1 FINAL
WHERE team_id = {team_id:UInt32} AND id = {id:UInt32} AND framework != {framework:String}`;

/** Apps by the client ID that their libraries send, remembered for a few seconds; that there is none never is. */
@Injectable()
export class ClientApps {
  private readonly cache: CachedLookup<ClientApp | undefined>;
  /** Client IDs that were known at some time: libraries report too seldom to be found in the cache. */
  private readonly seen = new LRUCache<string, true>({ max: 100_000 });

  constructor(
    private readonly store: ClickHouse,
    { cacheTtlMs }: Config,
  ) {
    this.cache = new CachedLookup(cacheTtlMs);
  }

  /** The app, or undefined when the store answered that it knows none. */
  find(clientId: string): Promise<ClientApp | undefined> {
    return this.cache.find(clientId, () => this.load(clientId));
  }

  /** Whether the app was found before, without asking the store. */
  wasFound(clientId: string): boolean {
    return this.seen.has(clientId);
  }

  /** Changes the app's framework where it is another. */
  async learnFramework({ id, team_id }: ClientApp, framework: string): Promise<void> {
    const name = 'apps.set_framework';
    await this.store.command(SET_FRAMEWORK, { id, team_id, framework }, { name, operation: 'INSERT' });
  }

  private async load(clientId: string): Promise<ClientApp | undefined> {
    const [app] = await this.store.rows<ClientApp>('client_apps.find', FIND, { client_id: clientId });
    if (app) this.seen.set(clientId, true);
    return app;
  }
}
