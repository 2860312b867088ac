import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { App, Env } from '../apps/apps.dto.js';
import { AppsRepository } from '../apps/apps.repository.js';
import { createApiKey, hashApiKey, parseIdentifier } from '../auth/api-key.js';
import { createWriteToken, findTokenIdentifier } from '../auth/write-token.js';
import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import type { Parameters } from '../clickhouse/query-parameters.js';
import { ALL_SCOPES, type KeyScopes, type Plan } from '../common/account.js';
import { deleteAppData } from './app-data.js';
import type { BatchLog } from '../ingestion/batch-log.js';
import { dateTime64 } from '../ingestion/names/id-generator.js';
import { claimId } from './id-claims.js';
import { readStatus } from './store-status.js';

/** The command cannot be executed; `message` is one line for its user. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

export interface TeamRow {
  id: number;
  name: string;
  plan: Plan;
}

export interface KeyRow {
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

export interface CreateKeyOptions {
  name?: string;
  /** Milliseconds since the epoch; never without it. */
  expiresAt?: number;
  key?: string;
  scopes?: KeyScopes;
}

export interface WriteTokenRow {
  identifier: string;
  app_id: number;
  name: string;
  created_at: string;
  revoked_at: string | null;
}

/** Limits on the names of an app; 0: the configured limit. */
export interface AppLimitsRow {
  endpoints: number;
  consumers: number;
  consumer_groups: number;
  environments: number;
}

const NO_LIMITS: AppLimitsRow = { endpoints: 0, consumers: 0, consumer_groups: 0, environments: 0 };

export interface EndpointRow {
  id: number;
  method: string;
  path: string;
  excluded: boolean;
}

export interface ExpectedErrorRow {
  /** The endpoint's. */
  id: number;
  method: string;
  path: string;
  status_code: number;
  expected: boolean;
}

const TEAMS = `SELECT id, name, plan FROM teams_v1 FINAL ORDER BY id`;
const APP_TEAM = `SELECT team_id, name FROM apps_v1 FINAL WHERE id = {app_id:Int64}`;
const KEYS = `
SELECT identifier, team_id, name, created_at, expires_at, revoked_at, app_ids, operations, has_bodies,
  nullIf(consumer, '') AS consumer, nullIf(requests_per_minute, 0) AS requests_per_minute
FROM api_keys_v1 FINAL WHERE team_id = {team_id:Int64} ORDER BY created_at, identifier`;
const KEY_TEAM = `SELECT team_id FROM api_keys_v1 FINAL WHERE identifier = {identifier:String}`;
const CONSUMER_APPS = `
SELECT DISTINCT app_id FROM consumers_v1
WHERE app_id IN {app_ids:Array(UInt32)} AND identifier = {identifier:String}`;
/**
 * A change inserts the whole row again, copied inside the engine with the new value. Two changes at the same time copy the same row, so
 * that the one with the newer version undoes the other. A name therefore counts less than what decides who may do what, and nothing
 * undoes a revocation. Each version is newer than that of the copied row, which it replaces.
 */
const NAME_VERSION = 'updated_at + INTERVAL 1 MILLISECOND AS updated_at';
const STATE_VERSION = `greatest(updated_at + INTERVAL 1 SECOND, now64(6, 'UTC')) AS updated_at`;
const REVOKED_VERSION = `greatest(updated_at, toDateTime64('2200-01-01', 6, 'UTC')) + INTERVAL 1 MILLISECOND AS updated_at`;
const CHANGE_KEY = (change: string, version: string) => `
INSERT INTO api_keys_v1
SELECT * REPLACE (${change}, ${version}) FROM api_keys_v1 FINAL WHERE identifier = {identifier:String}`;
const CHANGE_TEAM = (change: string, version: string) => `
INSERT INTO teams_v1
SELECT * REPLACE (${change}, ${version}) FROM teams_v1 FINAL WHERE id = {team_id:Int64}`;
const CHANGE_APP = (change: string, version: string) => `
INSERT INTO apps_v1
SELECT * REPLACE (${change}, ${version}) FROM apps_v1 FINAL WHERE id = {app_id:Int64}`;
const REVOKE = CHANGE_KEY('coalesce(revoked_at, now64(3)) AS revoked_at', REVOKED_VERSION);
const SET_SCOPES = CHANGE_KEY(
  `{app_ids:Array(UInt32)} AS app_ids, {operations:Array(String)} AS operations,
  {has_bodies:Bool} AS has_bodies, {consumer:String} AS consumer,
  {requests_per_minute:UInt32} AS requests_per_minute`,
  STATE_VERSION,
);
const RENAME_KEY = CHANGE_KEY('{name:String} AS name', NAME_VERSION);
const WRITE_TOKENS = `
SELECT identifier, app_id, name, created_at, revoked_at
FROM write_tokens_v1 FINAL WHERE app_id = {app_id:Int64} ORDER BY created_at, identifier`;
const WRITE_TOKEN_APP = `SELECT app_id FROM write_tokens_v1 FINAL WHERE identifier = {identifier:String}`;
const REVOKE_WRITE_TOKEN = `
INSERT INTO write_tokens_v1 (identifier, app_id, name, token_sha256, created_at, revoked_at)
SELECT identifier, app_id, name, token_sha256, created_at, coalesce(revoked_at, now64(3))
FROM write_tokens_v1 FINAL WHERE identifier = {identifier:String}`;
const SET_PLAN = CHANGE_TEAM('{plan:String} AS plan', STATE_VERSION);
const RENAME_TEAM = CHANGE_TEAM('{name:String} AS name', NAME_VERSION);
const SET_DISABLED = CHANGE_APP('{disabled:Bool} AS disabled', STATE_VERSION);
const SET_CLIENT_ID = CHANGE_APP('{client_id:UUID} AS client_id', STATE_VERSION);
const RENAME_APP = CHANGE_APP('{name:String} AS name', NAME_VERSION);
const DELETE_KEY = 'DELETE FROM api_keys_v1 WHERE identifier = {identifier:String}';
const DELETE_KEYS = 'DELETE FROM api_keys_v1 WHERE team_id = {team_id:Int64}';
const DELETE_APP = 'DELETE FROM apps_v1 WHERE id = {app_id:Int64}';
const DELETE_TEAM = 'DELETE FROM teams_v1 WHERE id = {team_id:Int64}';
const LIMITS = `
SELECT endpoints, consumers, consumer_groups, environments FROM app_limits_v1 FINAL WHERE app_id = {app_id:Int64}`;
const ENDPOINT = `
SELECT id, method, path, excluded, toString(created_at) AS created_at FROM endpoints_v1 FINAL
WHERE app_id = {app_id:Int64} AND method = {method:String} AND path = {path:String}`;

/** Time until collectors reject the data of a disabled app (10 seconds), and have written what they accepted before. */
const COLLECTORS_STOP_WITHIN_MS = 15_000;

/** Administration: teams, keys, apps, marks on endpoints. Not reachable over HTTP. */
export class AdminService {
  constructor(private readonly store: ClickHouse) {}

  async createTeam(name: string, plan: Plan, createdAt = Date.now()): Promise<TeamRow> {
    const team = { id: await claimId(this.store, 'teams_v1'), name: text('name', name), plan };
    await this.store.insert('teams_v1', [JSON.stringify({ ...team, created_at: dateTime64(createdAt) })]);
    return team;
  }

  listTeams(): Promise<TeamRow[]> {
    return this.store.rows<TeamRow>('teams.list', TEAMS);
  }

  /** @throws AdminError if the team does not exist */
  async requireTeam(teamId: number): Promise<TeamRow> {
    const team = (await this.listTeams()).find(({ id }) => id === teamId);
    if (!team) throw new AdminError(`There is no team ${teamId}`);
    return team;
  }

  async createApp(teamId: number, name: string, framework: string, createdAt = Date.now()): Promise<App> {
    await this.requireTeam(teamId);
    const id = await claimId(this.store, 'apps_v1');
    const app = {
      id,
      name: text('name', name),
      framework: text('framework', framework),
      client_id: randomUUID(),
      team_id: teamId,
      created_at: dateTime64(createdAt),
    };
    await this.store.insert('apps_v1', [JSON.stringify(app)]);
    const created = (await this.listApps(teamId)).find((one) => one.id === id);
    if (!created) throw new AdminError(`App ${id} was written but cannot be read back`);
    return created;
  }

  async listApps(teamId: number): Promise<App[]> {
    await this.requireTeam(teamId);
    const apps: App[] = [];
    for await (const read of new AppsRepository(this.store).list(teamId, ALL_SCOPES)) apps.push(...read);
    return apps;
  }

  /** The team and the name of an app. @throws AdminError if the app does not exist. */
  async requireApp(appId: number): Promise<{ team_id: number; name: string }> {
    const [row] = await this.store.rows<{ team_id: number; name: string }>('apps.find_team', APP_TEAM, {
      app_id: appId,
    });
    if (!row) throw new AdminError(`There is no app ${appId}`);
    return row;
  }

  /** Creates a key. Only its hash is stored, so this result is the only place where the key is shown. */
  async createKey(
    teamId: number,
    { name = '', expiresAt, key = createApiKey(), scopes = ALL_SCOPES }: CreateKeyOptions = {},
  ): Promise<{ key: string; identifier: string }> {
    await this.requireTeam(teamId);
    await this.requireAppsOfTeam(scopes.appIds, teamId);
    const identifier = parseIdentifier(key);
    if (identifier === undefined)
      throw new AdminError('A key has 7 letters or digits, a dot, and 32 letters or digits');
    if ((await this.findKeyTeam(identifier)) !== undefined)
      throw new AdminError(`There is a key ${identifier} already`);
    const row = {
      identifier,
      team_id: teamId,
      name,
      key_sha256: hashApiKey(key),
      created_at: dateTime64(Date.now()),
      expires_at: expiresAt === undefined ? null : dateTime64(expiresAt),
      revoked_at: null,
      ...toColumns(scopes),
    };
    await this.store.insert('api_keys_v1', [JSON.stringify(row)]);
    return { key, identifier };
  }

  async listKeys(teamId: number): Promise<KeyRow[]> {
    await this.requireTeam(teamId);
    return this.store.rows<KeyRow>('api_keys.list', KEYS, { team_id: teamId });
  }

  /** Those of the apps that know no consumer with the identifier. */
  async listAppsWithoutConsumer(appIds: readonly number[], identifier: string): Promise<number[]> {
    const params = { app_ids: appIds, identifier };
    const rows = await this.store.rows<{ app_id: number }>('consumers.find_apps', CONSUMER_APPS, params);
    return appIds.filter((id) => !rows.some(({ app_id }) => app_id === id));
  }

  /** Revokes the key permanently; a repeated call changes nothing. */
  async revokeKey(identifier: string): Promise<{ identifier: string; revoked: true }> {
    await this.requireKey(identifier);
    await this.change('api_keys.revoke', REVOKE, { identifier });
    return { identifier, revoked: true };
  }

  /** Replaces the scopes of a key; servers apply the new ones within 10 seconds. */
  async setKeyScopes(identifier: string, scopes: KeyScopes): Promise<KeyRow> {
    const teamId = await this.requireKey(identifier);
    await this.requireAppsOfTeam(scopes.appIds, teamId);
    const params = { identifier, ...toColumns(scopes) };
    await this.change('api_keys.set_scopes', SET_SCOPES, params);
    const changed = (await this.listKeys(teamId)).find((row) => row.identifier === identifier);
    if (!changed) throw new AdminError('The key was deleted at the same time');
    return changed;
  }

  async renameTeam(teamId: number, name: string): Promise<TeamRow> {
    const team = await this.requireTeam(teamId);
    const renamed = { ...team, name: text('name', name) };
    await this.change('teams.rename', RENAME_TEAM, { team_id: teamId, name: renamed.name });
    return renamed;
  }

  async renameApp(appId: number, name: string): Promise<{ id: number; name: string }> {
    await this.requireApp(appId);
    const renamed = { id: appId, name: text('name', name) };
    await this.change('apps.rename', RENAME_APP, { app_id: appId, name: renamed.name });
    return renamed;
  }

  async renameKey(identifier: string, name: string): Promise<{ identifier: string; name: string }> {
    await this.requireKey(identifier);
    await this.change('api_keys.rename', RENAME_KEY, { identifier, name: name.toWellFormed() });
    return { identifier, name };
  }

  /** Deletes the key; servers reject it within 10 seconds. */
  async deleteKey(identifier: string): Promise<{ identifier: string; deleted: true }> {
    await this.requireKey(identifier);
    await this.store.command(DELETE_KEY, { identifier }, { name: 'api_keys.delete' });
    return { identifier, deleted: true };
  }

  /** Deletes a team without apps, and its keys. Its ID is not used again. */
  async deleteTeam(teamId: number): Promise<{ id: number; deleted: true }> {
    const apps = await this.listApps(teamId);
    if (apps.length > 0)
      throw new AdminError(
        `Team ${teamId} has apps, which must be deleted first: ${apps.map(({ id }) => id).join(', ')}`,
      );
    // The keys first: without their team they would be in no list.
    await this.store.command(DELETE_KEYS, { team_id: teamId }, { name: 'api_keys.delete_all' });
    await this.store.command(DELETE_TEAM, { team_id: teamId }, { name: 'teams.delete' });
    return { id: teamId, deleted: true };
  }

  async listEnvironments(appId: number): Promise<Env[]> {
    const { team_id } = await this.requireApp(appId);
    return (await this.listApps(team_id)).find(({ id }) => id === appId)?.envs ?? [];
  }

  readStatus(): ReturnType<typeof readStatus> {
    return readStatus(this.store);
  }

  /** Creates a write token of an app. Only its hash is stored, so the result is the only place where the token is shown. */
  async createWriteToken(
    appId: number,
    { name = '', token = createWriteToken() }: { name?: string; token?: string } = {},
  ): Promise<{ token: string; identifier: string }> {
    await this.requireApp(appId);
    const identifier = findTokenIdentifier(token);
    if (identifier === undefined) throw new AdminError('A write token is apt_ and 24 letters or digits');
    if ((await this.findTokenApp(identifier)) !== undefined)
      throw new AdminError(`Write token ${identifier} exists already`);
    const row = {
      identifier,
      app_id: appId,
      name: name.toWellFormed(),
      token_sha256: hashApiKey(token),
      created_at: dateTime64(Date.now()),
      revoked_at: null,
    };
    await this.store.insert('write_tokens_v1', [JSON.stringify(row)]);
    return { token, identifier };
  }

  async listWriteTokens(appId: number): Promise<WriteTokenRow[]> {
    await this.requireApp(appId);
    return this.store.rows<WriteTokenRow>('write_tokens.list', WRITE_TOKENS, { app_id: appId });
  }

  /** Revokes a token permanently; revoking it again changes nothing. Collectors reject it within 10 seconds. */
  async revokeWriteToken(
    appId: number,
    identifier: string,
  ): Promise<{ identifier: string; app_id: number; revoked: true }> {
    await this.requireApp(appId);
    if ((await this.findTokenApp(identifier)) !== appId)
      throw new AdminError(`App ${appId} has no write token with that identifier`);
    await this.change('write_tokens.revoke', REVOKE_WRITE_TOKEN, { identifier });
    return { identifier, app_id: appId, revoked: true };
  }

  /** Only teams on the premium plan may use the API; takes effect within 10 seconds. */
  async setPlan(teamId: number, plan: Plan): Promise<TeamRow> {
    const team = await this.requireTeam(teamId);
    await this.change('teams.set_plan', SET_PLAN, { team_id: teamId, plan });
    return { ...team, plan };
  }

  /** Disables or enables collection for an app, within 10 seconds. Stored data stays readable. */
  async setDisabled(appId: number, disabled: boolean): Promise<{ id: number; disabled: boolean }> {
    await this.requireApp(appId);
    const params = { app_id: appId, disabled };
    await this.change('apps.set_disabled', SET_DISABLED, params);
    return { id: appId, disabled };
  }

  /** Gives an app a new client ID; the collector rejects the old one within 10 seconds. */
  async rotateClientId(appId: number): Promise<{ id: number; client_id: string }> {
    await this.requireApp(appId);
    const client_id = randomUUID();
    const params = { app_id: appId, client_id };
    await this.change('apps.set_client_id', SET_CLIENT_ID, params);
    return { id: appId, client_id };
  }

  /**
   * Deletes an app and all its data; its ID and those of its names are not used again. It can be repeated after an interruption.
   *
   * @param batches those that are not applied would come back later
   * @param isOpenElsewhere whether collectors may write to the store: then it waits until they reject the app's data
   */
  async deleteApp(
    appId: number,
    batches: BatchLog,
    isOpenElsewhere: boolean,
  ): Promise<{ id: number; deleted: true }> {
    await this.setDisabled(appId, true);
    if (isOpenElsewhere) await pause(COLLECTORS_STOP_WITHIN_MS);
    await deleteAppData(this.store, appId, batches, isOpenElsewhere);
    await this.store.command(DELETE_APP, { app_id: appId }, { name: 'apps.delete' });
    return { id: appId, deleted: true };
  }

  /** Sets limits on the names of an app; an absent limit stays unchanged, 0 means the configured limit. */
  async setNameLimits(appId: number, limits: Partial<AppLimitsRow>): Promise<AppLimitsRow> {
    await this.requireApp(appId);
    const [present] = await this.store.rows<AppLimitsRow>('app_limits.find', LIMITS, { app_id: appId });
    const changed = { ...NO_LIMITS, ...present, ...limits };
    await this.store.insert('app_limits_v1', [JSON.stringify({ app_id: appId, ...changed })]);
    return changed;
  }

  /** Marks an endpoint as excluded, or removes the mark. */
  async setExcluded(appId: number, method: string, path: string, excluded: boolean): Promise<EndpointRow> {
    const row = await this.requireEndpoint(appId, method, path);
    await this.store.insert('endpoints_v1', [JSON.stringify({ app_id: appId, ...row, excluded })]);
    return { id: row.id, method: row.method, path: row.path, excluded };
  }

  /** Counts a status of an endpoint as a success in metrics, past and future, or as an error again. */
  async setExpectedError(
    appId: number,
    method: string,
    path: string,
    status_code: number,
    expected: boolean,
  ): Promise<ExpectedErrorRow> {
    if (!Number.isInteger(status_code) || status_code < 400 || status_code > 599)
      throw new AdminError('The status of an error is a number from 400 to 599');
    const endpoint = await this.requireEndpoint(appId, method, path);
    const row = { app_id: appId, endpoint_id: endpoint.id, status_code, marked: expected };
    await this.store.insert('endpoint_expected_errors_v1', [JSON.stringify(row)]);
    return { id: endpoint.id, method: endpoint.method, path: endpoint.path, status_code, expected };
  }

  /** Inserts a row again with its change; see `NAME_VERSION`. */
  private change(name: string, sql: string, params: Parameters): Promise<void> {
    return this.store.command(sql, params, { name, operation: 'INSERT' });
  }

  /** @throws AdminError if the app has no such endpoint. */
  private async requireEndpoint(
    appId: number,
    method: string,
    path: string,
  ): Promise<EndpointRow & { created_at: string }> {
    await this.requireApp(appId);
    const params = { app_id: appId, method: method.toUpperCase(), path };
    const [row] = await this.store.rows<EndpointRow & { created_at: string }>(
      'endpoints.find',
      ENDPOINT,
      params,
    );
    if (!row) throw new AdminError(`App ${appId} has no endpoint ${params.method} ${path}`);
    return row;
  }

  /** The team of a key. */
  private async requireKey(identifier: string): Promise<number> {
    const teamId = await this.findKeyTeam(identifier);
    // The argument may be a whole key, so the error does not repeat it.
    if (teamId === undefined)
      throw new AdminError('There is no key with that identifier (the part of a key before the dot)');
    return teamId;
  }

  private async findKeyTeam(identifier: string): Promise<number | undefined> {
    const [row] = await this.store.rows<{ team_id: number }>('api_keys.find_team', KEY_TEAM, { identifier });
    return row?.team_id;
  }

  private async requireAppsOfTeam(appIds: readonly number[], teamId: number): Promise<void> {
    if (appIds.length === 0) return;
    const own = new Set((await this.listApps(teamId)).map(({ id }) => id));
    const others = appIds.filter((id) => !own.has(id));
    if (others.length > 0) throw new AdminError(`Team ${teamId} has no app ${others.join(', ')}`);
  }

  private async findTokenApp(identifier: string): Promise<number | undefined> {
    const [row] = await this.store.rows<{ app_id: number }>('write_tokens.find_app', WRITE_TOKEN_APP, {
      identifier,
    });
    return row?.app_id;
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

function text(what: string, value: string): string {
  if (value.trim() === '') throw new AdminError(`The ${what} must not be empty`);
  return value.toWellFormed();
}
