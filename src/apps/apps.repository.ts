import { Injectable } from '@nestjs/common';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import type { App, Env } from './apps.dto.js';

const LIST = `
SELECT id, name, framework, client_id, created_at
FROM apps_v1 FINAL
WHERE team_id = {team_id:UInt32}
ORDER BY id`;

const LIST_ENVS = `
SELECT e.app_id AS app_id, e.id AS id, e.name AS name, e.created_at AS created_at,
  if(a.last_sync_at = toDateTime64(0, 3), NULL, a.last_sync_at) AS last_sync_at
FROM app_envs_v1 AS e FINAL
LEFT JOIN (
  SELECT app_id, app_env_id, max(last_sync_at) AS last_sync_at
  FROM env_activity_v1
  WHERE app_id IN {app_ids:Array(UInt32)}
  GROUP BY app_id, app_env_id
) AS a ON a.app_id = e.app_id AND a.app_env_id = e.id
WHERE e.app_id IN {app_ids:Array(UInt32)}
ORDER BY e.id`;

const FIND_SCOPE = `
SELECT
  (SELECT count() FROM apps_v1 FINAL WHERE team_id = {team_id:UInt32} AND id = {app_id:Int64}) AS owned,
  (SELECT groupArray(id) FROM endpoints_v1 FINAL WHERE app_id = {app_id:Int64} AND excluded) AS excluded_endpoint_ids`;

type AppRow = Omit<App, 'envs'>;
type EnvRow = Env & { app_id: number };

@Injectable()
export class AppsRepository {
  constructor(private readonly store: ClickHouse) {}

  /** The team's apps with their environments, both by ID, ascending. */
  async list(teamId: number, signal?: AbortSignal): Promise<App[]> {
    const apps = await this.store.rows<AppRow>('apps.list', LIST, { team_id: teamId }, { signal });
    if (apps.length === 0) return [];
    const app_ids = apps.map(({ id }) => id);
    const envs = await this.store.rows<EnvRow>('apps.list_envs', LIST_ENVS, { app_ids }, { signal });
    return apps.map(({ created_at, ...app }) => ({
      ...app,
      envs: envs.filter(({ app_id }) => app_id === app.id).map(withoutApp),
      created_at,
    }));
  }

  /** Endpoints excluded from an app's data, or null when the team has no such app. */
  async findExcluded(teamId: number, appId: number, asker?: AbortSignal): Promise<number[] | null> {
    const [row] = await this.store.rows<{ owned: number; excluded_endpoint_ids: number[] }>(
      'apps.find_scope',
      FIND_SCOPE,
      { team_id: teamId, app_id: appId },
      { first: true, asker },
    );
    return row && row.owned > 0 ? row.excluded_endpoint_ids : null;
  }
}

function withoutApp({ id, name, created_at, last_sync_at }: EnvRow): Env {
  return { id, name, created_at, last_sync_at };
}
