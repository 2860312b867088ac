import type { App } from '../../api/apps/apps.dto.js';
import { AppsRepository } from '../../api/apps/apps.repository.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { ALL_SCOPES, type Plan } from '../../platform/http/account.js';
import { AdminError, requireText } from './admin.error.js';
import { claimId } from './id-claims.js';
import type { RowChanges } from './row-change.js';

interface TeamRow {
  id: number;
  name: string;
  plan: Plan;
}

const TEAMS = `SELECT id, name, plan FROM teams_v1 FINAL ORDER BY id`;
const ROW = (team_id: number) =>
  ({ table: 'teams_v1', where: 'id = {team_id:Int64}', key: { team_id } }) as const;
const SET_PLAN = { name: 'teams.set_plan', columns: '{plan:String} AS plan', kind: 'state' } as const;
const RENAME = { name: 'teams.rename', columns: '{name:String} AS name', kind: 'name' } as const;
const DELETE_KEYS = 'DELETE FROM api_keys_v1 WHERE team_id = {team_id:Int64}';
const DELETE = 'DELETE FROM teams_v1 WHERE id = {team_id:Int64}';

export class TeamsAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly changes: RowChanges,
  ) {}

  async create(name: string, plan: Plan, createdAt = Date.now()): Promise<TeamRow> {
    const team = { id: await claimId(this.store, 'teams_v1'), name: requireText('name', name), plan };
    await this.store.insert('teams_v1', [JSON.stringify({ ...team, created_at: createdAt })]);
    return team;
  }

  list(): Promise<TeamRow[]> {
    return this.store.rows<TeamRow>('teams.list', TEAMS);
  }

  /** @throws AdminError if the team does not exist */
  async require(teamId: number): Promise<TeamRow> {
    const team = (await this.list()).find(({ id }) => id === teamId);
    if (!team) throw new AdminError(`There is no team ${teamId}`);
    return team;
  }

  async listApps(teamId: number): Promise<App[]> {
    await this.require(teamId);
    const apps: App[] = [];
    for await (const read of new AppsRepository(this.store).list(teamId, ALL_SCOPES)) apps.push(...read);
    return apps;
  }

  async rename(teamId: number, name: string): Promise<TeamRow> {
    const team = await this.require(teamId);
    const renamed = { ...team, name: requireText('name', name) };
    await this.changes.make(ROW(teamId), RENAME, { name: renamed.name });
    return renamed;
  }

  /** Only teams on the premium plan may use the API; takes effect within 10 seconds. */
  async setPlan(teamId: number, plan: Plan): Promise<TeamRow> {
    const team = await this.require(teamId);
    await this.changes.make(ROW(teamId), SET_PLAN, { plan });
    return { ...team, plan };
  }

  /** Deletes a team without apps, and its keys. Its ID is not used again. */
  async delete(teamId: number): Promise<{ id: number; deleted: true }> {
    const apps = await this.listApps(teamId);
    if (apps.length > 0)
      throw new AdminError(
        `Team ${teamId} has apps, which must be deleted first: ${apps.map(({ id }) => id).join(', ')}`,
      );
    // The keys first: without their team they would be in no list.
    await this.store.command(DELETE_KEYS, { team_id: teamId }, { name: 'api_keys.delete_all' });
    await this.store.command(DELETE, { team_id: teamId }, { name: 'teams.delete' });
    return { id: teamId, deleted: true };
  }
}
