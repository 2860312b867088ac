import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { App, Env } from '../../api/apps/apps.dto.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { BatchLog } from '../../write/batch-log.js';
import { AdminError, requireText } from './admin.error.js';
import { deleteAppData } from './app-data.js';
import { claimId } from './id-claims.js';
import type { RowChanges } from './row-change.js';
import type { TeamsAdmin } from './teams.admin.js';

/** Limits on the names of an app; 0: the configured limit. */
const NO_LIMITS = { endpoints: 0, consumers: 0, consumer_groups: 0, environments: 0 };
type AppLimits = typeof NO_LIMITS;

const TEAM = `SELECT team_id, name FROM apps_v1 FINAL WHERE id = {app_id:Int64}`;
const ROW = (app_id: number) =>
  ({ table: 'apps_v1', where: 'id = {app_id:Int64}', key: { app_id } }) as const;
const SET_DISABLED = {
  name: 'apps.set_disabled',
  columns: '{disabled:Bool} AS disabled',
  kind: 'state',
} as const;
const SET_CLIENT_ID = {
  name: 'apps.set_client_id',
  columns: '{client_id:UUID} AS client_id',
  kind: 'state',
} as const;
const SET_GRAPHQL = {
  name: 'apps.set_graphql',
  columns: '{graphql:Bool} AS graphql',
  kind: 'name',
} as const;
const RENAME = { name: 'apps.rename', columns: '{name:String} AS name', kind: 'name' } as const;
const DELETE = 'DELETE FROM apps_v1 WHERE id = {app_id:Int64}';
const LIMITS = `SELECT kind, max_names FROM app_limits_v1 FINAL WHERE app_id = {app_id:Int64}`;

/**
 * Time until collectors reject the data of a disabled app (10 seconds), and have written the data that they
 * accepted before.
 */
const COLLECTORS_STOP_WITHIN_MS = 15_000;

export class AppsAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly changes: RowChanges,
    private readonly teams: TeamsAdmin,
  ) {}

  async create(teamId: number, name: string, framework: string, createdAt = Date.now()): Promise<App> {
    await this.teams.require(teamId);
    const id = await claimId(this.store, 'apps_v1');
    const app = {
      id,
      name: requireText('name', name),
      framework: requireText('framework', framework),
      client_id: randomUUID(),
      team_id: teamId,
      created_at: createdAt,
    };
    await this.store.insert('apps_v1', [JSON.stringify(app)]);
    const created = (await this.teams.listApps(teamId)).find((listed) => listed.id === id);
    if (!created) throw new AdminError(`App ${id} was written but cannot be read back`);
    return created;
  }

  /** The team and the name of an app. @throws AdminError if the app does not exist. */
  async require(appId: number): Promise<{ team_id: number; name: string }> {
    const params = { app_id: appId };
    const [row] = await this.store.rows<{ team_id: number; name: string }>('apps.find_team', TEAM, params);
    if (!row) throw new AdminError(`There is no app ${appId}`);
    return row;
  }

  async listEnvironments(appId: number): Promise<Env[]> {
    const { team_id } = await this.require(appId);
    return (await this.teams.listApps(team_id)).find(({ id }) => id === appId)?.envs ?? [];
  }

  async rename(appId: number, name: string): Promise<{ id: number; name: string }> {
    await this.require(appId);
    const renamed = { id: appId, name: requireText('name', name) };
    await this.changes.make(ROW(appId), RENAME, { name: renamed.name });
    return renamed;
  }

  /** Disables or enables collection for an app, within 10 seconds. Stored data stays readable. */
  async setDisabled(appId: number, disabled: boolean): Promise<{ id: number; disabled: boolean }> {
    await this.require(appId);
    await this.changes.make(ROW(appId), SET_DISABLED, { disabled });
    return { id: appId, disabled };
  }

  /** Whether the collector tells GraphQL operations of an app apart, within 10 seconds. */
  async setGraphql(appId: number, graphql: boolean): Promise<{ id: number; graphql: boolean }> {
    await this.require(appId);
    await this.changes.make(ROW(appId), SET_GRAPHQL, { graphql });
    return { id: appId, graphql };
  }

  /** Gives an app a new client ID; the collector rejects the old one within 10 seconds. */
  async rotateClientId(appId: number): Promise<{ id: number; client_id: string }> {
    await this.require(appId);
    const client_id = randomUUID();
    await this.changes.make(ROW(appId), SET_CLIENT_ID, { client_id });
    return { id: appId, client_id };
  }

  /** Sets limits on the names of an app; an absent limit stays unchanged, 0 means the configured limit. */
  async setNameLimits(appId: number, limits: Partial<AppLimits>): Promise<AppLimits> {
    await this.require(appId);
    const rows = Object.entries(limits).map(([kind, max_names]) => ({ app_id: appId, kind, max_names }));
    await this.store.insert(
      'app_limits_v1',
      rows.map((row) => JSON.stringify(row)),
    );
    const present = await this.store.rows<{ kind: keyof AppLimits; max_names: number }>(
      'app_limits.find',
      LIMITS,
      { app_id: appId },
    );
    return { ...NO_LIMITS, ...Object.fromEntries(present.map(({ kind, max_names }) => [kind, max_names])) };
  }

  /**
   * Deletes an app and all its data; its ID and the IDs of its names are not used again. The deletion can be
   * repeated after an interruption.
   *
   * @param batches unapplied batches would bring data back later
   * @param isOpenElsewhere whether collectors may write to the store: then it waits until they reject the
   * app's data
   */
  async delete(
    appId: number,
    batches: BatchLog,
    isOpenElsewhere: boolean,
  ): Promise<{ id: number; deleted: true }> {
    await this.setDisabled(appId, true);
    if (isOpenElsewhere) await pause(COLLECTORS_STOP_WITHIN_MS);
    await deleteAppData(this.store, appId, batches, isOpenElsewhere);
    await this.store.command(DELETE, { app_id: appId }, { name: 'apps.delete' });
    return { id: appId, deleted: true };
  }
}
