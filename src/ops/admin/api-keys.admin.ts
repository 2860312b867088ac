import { createApiKey, hashApiKey, parseIdentifier } from '../../access/keys/api-key.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { ALL_SCOPES, type KeyScopes } from '../../platform/http/account.js';
import { AdminError } from './admin.error.js';
import type { RowChanges } from './row-change.js';
import type { TeamsAdmin } from './teams.admin.js';

interface KeyRow {
  identifier: string;
  team_id: number;
  name: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** The scopes; see `KeyScopes`. */
  app_ids: number[];
  operations: string[];
  has_bodies: boolean;
  consumer: string | null;
  requests_per_minute: number | null;
}

interface CreateKeyOptions {
  name?: string;
  /** Milliseconds since the epoch; undefined: never. */
  expiresAt?: number;
  key?: string;
  scopes?: KeyScopes;
}

const KEYS = `
SELECT identifier, team_id, name, created_at, expires_at, revoked_at, app_ids, operations, has_bodies,
  nullIf(consumer, '') AS consumer, nullIf(requests_per_minute, 0) AS requests_per_minute
FROM api_keys_v1 FINAL WHERE team_id = {team_id:Int64} ORDER BY created_at, identifier`;
const TEAM = `SELECT team_id FROM api_keys_v1 FINAL WHERE identifier = {identifier:String}`;
const CONSUMER_APPS = `
SELECT DISTINCT app_id FROM consumers_v1
WHERE app_id IN {app_ids:Array(UInt32)} AND identifier = {identifier:String}`;
const ROW = (identifier: string) =>
  ({ table: 'api_keys_v1', where: 'identifier = {identifier:String}', key: { identifier } }) as const;
const REVOKE = {
  name: 'api_keys.revoke',
  columns: 'coalesce(revoked_at, now64(3)) AS revoked_at',
  kind: 'revocation',
} as const;
const SET_SCOPES = {
  name: 'api_keys.set_scopes',
  columns: `{app_ids:Array(UInt32)} AS app_ids, {operations:Array(String)} AS operations,
  {has_bodies:Bool} AS has_bodies, {consumer:String} AS consumer,
  {requests_per_minute:UInt32} AS requests_per_minute`,
  kind: 'state',
} as const;
const RENAME = { name: 'api_keys.rename', columns: '{name:String} AS name', kind: 'name' } as const;
const DELETE = 'DELETE FROM api_keys_v1 WHERE identifier = {identifier:String}';
const MAX_DELETIONS = 5;

export class ApiKeysAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly changes: RowChanges,
    private readonly teams: TeamsAdmin,
  ) {}

  /** Creates a key. Only its hash is stored, so this result is the only place where the key is shown. */
  async create(
    teamId: number,
    { name = '', expiresAt, key = createApiKey(), scopes = ALL_SCOPES }: CreateKeyOptions = {},
  ): Promise<{ key: string; identifier: string }> {
    await this.teams.require(teamId);
    await this.requireAppsOfTeam(scopes.appIds, teamId);
    const identifier = parseIdentifier(key);
    if (identifier === undefined)
      throw new AdminError('A key has 7 letters or digits, a dot, and 32 letters or digits');
    if ((await this.findTeam(identifier)) !== undefined)
      throw new AdminError(`There is a key ${identifier} already`);
    const row = {
      identifier,
      team_id: teamId,
      name,
      key_sha256: hashApiKey(key),
      created_at: Date.now(),
      expires_at: expiresAt ?? null,
      revoked_at: null,
      ...toColumns(scopes),
    };
    await this.store.insert('api_keys_v1', [JSON.stringify(row)]);
    return { key, identifier };
  }

  async list(teamId: number): Promise<KeyRow[]> {
    await this.teams.require(teamId);
    return this.store.rows<KeyRow>('api_keys.list', KEYS, { team_id: teamId });
  }

  /** The apps that have no consumer with the identifier. */
  async listAppsWithoutConsumer(appIds: readonly number[], identifier: string): Promise<number[]> {
    const params = { app_ids: appIds, identifier };
    const rows = await this.store.rows<{ app_id: number }>('consumers.find_apps', CONSUMER_APPS, params);
    return appIds.filter((id) => !rows.some(({ app_id }) => app_id === id));
  }

  /** Revokes the key permanently; a repeated call changes nothing. */
  async revoke(identifier: string): Promise<{ identifier: string; revoked: true }> {
    await this.requireTeam(identifier);
    await this.changes.make(ROW(identifier), REVOKE);
    return { identifier, revoked: true };
  }

  /** Replaces the scopes of a key; servers apply the new ones within 10 seconds. */
  async setScopes(identifier: string, scopes: KeyScopes): Promise<KeyRow> {
    const teamId = await this.requireTeam(identifier);
    await this.requireAppsOfTeam(scopes.appIds, teamId);
    await this.changes.make(ROW(identifier), SET_SCOPES, toColumns(scopes));
    const changed = (await this.list(teamId)).find((row) => row.identifier === identifier);
    if (!changed) throw new AdminError('The key was deleted at the same time');
    return changed;
  }

  async rename(identifier: string, name: string): Promise<{ identifier: string; name: string }> {
    await this.requireTeam(identifier);
    await this.changes.make(ROW(identifier), RENAME, { name: name.toWellFormed() });
    return { identifier, name };
  }

  /** Deletes the key; servers reject it within 10 seconds. */
  async delete(identifier: string): Promise<{ identifier: string; deleted: true }> {
    // Revoked first: a simultaneous change inserts the row again, but does not undo a revocation.
    await this.revoke(identifier);
    for (let pass = 0; pass < MAX_DELETIONS && (await this.findTeam(identifier)) !== undefined; pass++)
      await this.store.command(DELETE, { identifier }, { name: 'api_keys.delete' });
    return { identifier, deleted: true };
  }

  /** The team of a key. @throws AdminError if the key does not exist. */
  private async requireTeam(identifier: string): Promise<number> {
    const teamId = await this.findTeam(identifier);
    // The argument may be a whole key, so the error does not repeat it.
    if (teamId === undefined)
      throw new AdminError('There is no key with that identifier (the part of a key before the dot)');
    return teamId;
  }

  private async findTeam(identifier: string): Promise<number | undefined> {
    const [row] = await this.store.rows<{ team_id: number }>('api_keys.find_team', TEAM, { identifier });
    return row?.team_id;
  }

  private async requireAppsOfTeam(appIds: readonly number[], teamId: number): Promise<void> {
    if (appIds.length === 0) return;
    const teamAppIds = new Set((await this.teams.listApps(teamId)).map(({ id }) => id));
    const others = appIds.filter((id) => !teamAppIds.has(id));
    if (others.length > 0) throw new AdminError(`Team ${teamId} has no app ${others.join(', ')}`);
  }
}

/** The scopes as the columns of a row. */
function toColumns({ appIds, operations, hasBodies, consumer, requestsPerMinute }: KeyScopes) {
  return {
    app_ids: appIds,
    operations,
    has_bodies: hasBodies,
    consumer: consumer ?? '',
    requests_per_minute: requestsPerMinute ?? 0,
  };
}
