import { Injectable } from '@nestjs/common';
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

const CLIENT_IDS_TTL_MS = 1_000;
const CLIENT_IDS = 'SELECT client_id FROM apps_v1 FINAL';
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
  private readonly clientIds = new CachedLookup<Set<string>>(CLIENT_IDS_TTL_MS);

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

  /** Whether the app was found lately, without asking the store. */
  isKnown(clientId: string): boolean {
    return this.cache.peek(clientId) !== undefined;
  }

  /** Whether an app has this client ID, of a list that is at most a second old: a flood costs no query each. */
  async exists(clientId: string): Promise<boolean> {
    const clientIds = await this.clientIds.find('', async () => {
      const rows = await this.store.rows<{ client_id: string }>('client_apps.client_ids', CLIENT_IDS);
      return new Set(rows.map(({ client_id }) => client_id));
    });
    return clientIds.has(clientId);
  }

  /** Changes the app's framework where it is another. */
  async learnFramework({ id, team_id }: ClientApp, framework: string): Promise<void> {
    const name = 'apps.set_framework';
    await this.store.command(SET_FRAMEWORK, { id, team_id, framework }, { name, operation: 'INSERT' });
  }

  private async load(clientId: string): Promise<ClientApp | undefined> {
    const [app] = await this.store.rows<ClientApp>('client_apps.find', FIND, { client_id: clientId });
    return app;
  }
}
