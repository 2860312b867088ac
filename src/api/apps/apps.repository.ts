import { ClickHouse, type QueryOptions } from '../../store/client/clickhouse.client.js';
import { and } from '../../queries/predicates.js';
import { NIL_UUID } from '../../shared/nil-uuid.js';
import type { KeyScopes } from '../../platform/http/account.js';
import type { App, Env } from './apps.dto.js';

/** This many apps with a hundred environments each take some MB. */
export const APPS_PER_READ = 500;

const LIST = (filter: string) => `
SELECT id, name, framework, client_id, created_at
FROM apps_v1 FINAL
WHERE team_id = {team_id:UInt32} AND id > {after_id:UInt32}${filter}
ORDER BY id
LIMIT ${APPS_PER_READ}`;

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

const LIST_ENVS_WITHOUT_TIMES = `
SELECT app_id, id, name, created_at, NULL AS last_sync_at
FROM app_envs_v1 FINAL
WHERE app_id IN {app_ids:Array(UInt32)}
ORDER BY id`;

/** A pattern with `*` as one of LIKE. */
export const toLike = (column: string) =>
  String.raw`replaceAll(replaceAll(replaceAll(replaceAll(${column}, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')`;

const MATCHES_EXCLUSION = `SELECT e.id FROM endpoints_v1 AS e FINAL CROSS JOIN endpoint_exclusions_v1 AS x FINAL WHERE e.app_id = {app_id:Int64} AND x.app_id = {app_id:Int64} AND x.marked AND e.method LIKE ${toLike('x.method')} AND e.path LIKE ${toLike('x.path')}`;
/** Whether an endpoint is excluded, by its own mark or by a pattern. */
export const IS_EXCLUDED = `(excluded OR id IN (${MATCHES_EXCLUSION}))`;

const FIND_SCOPE = `
SELECT
  (SELECT count() FROM apps_v1 FINAL WHERE team_id = {team_id:UInt32} AND id = {app_id:Int64}) AS owned,
  (SELECT groupArray(id) FROM endpoints_v1 FINAL WHERE app_id = {app_id:Int64} AND ${IS_EXCLUDED}) AS excluded_endpoint_ids,
  (SELECT groupArray((endpoint_id, status_code)) FROM endpoint_expected_errors_v1 FINAL WHERE app_id = {app_id:Int64} AND marked) AS expected_errors`;

const FIND_CONSUMER = `
SELECT max(id) AS id FROM consumers_v1 FINAL WHERE app_id = {app_id:Int64} AND identifier = {identifier:String}`;

/** An ID that no consumer has; 0 stands for requests without a consumer. */
const NO_CONSUMER = -1;

/** The ID of an endpoint, and a status that is not an error for it. */
export type ExpectedError = readonly [endpointId: number, statusCode: number];

/** The marks that an operator set on an app's endpoints. */
export interface EndpointMarks {
  excluded_endpoint_ids: number[];
  expected_errors: ExpectedError[];
}

type AppRow = Omit<App, 'envs'>;
type EnvRow = Env & { app_id: number };

/** Has no decorator, because the command line uses it too, and commands do not load the framework. */
export class AppsRepository {
  constructor(private readonly store: ClickHouse) {}

  /**
   * The team's apps with their environments, both by ID, ascending.
   *
   * @param scopes of the key. A key of one consumer sees neither how to send data nor when other consumers
   * last did
   */
  async *list(
    teamId: number,
    { appIds, consumer }: Pick<KeyScopes, 'appIds' | 'consumer'>,
  ): AsyncGenerator<App[]> {
    const { sql, params: filter } = and(
      appIds.length === 0 ? undefined : { sql: 'id IN {app_ids:Array(UInt32)}', params: { app_ids: appIds } },
    );
    let after_id: number | undefined = 0;
    do {
      const params = { ...filter, team_id: teamId, after_id };
      const options = { teamId };
      const rows: AppRow[] = await this.store.rows('apps.list', LIST(sql), params, options);
      yield await this.withEnvironments(
        consumer === null ? rows : rows.map((row) => ({ ...row, client_id: NIL_UUID })),
        consumer === null ? LIST_ENVS : LIST_ENVS_WITHOUT_TIMES,
        options,
      );
      after_id = rows[APPS_PER_READ - 1]?.id;
    } while (after_id !== undefined);
  }

  /** Marks of an app's endpoints, or null when the team has no such app. */
  async findMarks(teamId: number, appId: number): Promise<EndpointMarks | null> {
    const [row] = await this.store.rows<EndpointMarks & { owned: number }>(
      'apps.find_scope',
      FIND_SCOPE,
      { team_id: teamId, app_id: appId },
      { shared: true },
    );
    return row && row.owned > 0 ? row : null;
  }

  /** The ID of a consumer; if the consumer does not exist, an ID that no consumer has. */
  async findConsumerId(appId: number, identifier: string): Promise<number> {
    const params = { app_id: appId, identifier };
    const [row] = await this.store.rows<{ id: number }>('apps.find_consumer', FIND_CONSUMER, params, {
      shared: true,
    });
    return row && row.id > 0 ? row.id : NO_CONSUMER;
  }

  private async withEnvironments(
    apps: readonly AppRow[],
    listEnvs: string,
    options: QueryOptions,
  ): Promise<App[]> {
    if (apps.length === 0) return [];
    const app_ids = apps.map(({ id }) => id);
    const rows = await this.store.rows<EnvRow>('apps.list_envs', listEnvs, { app_ids }, options);
    const envs = new Map<number, Env[]>(app_ids.map((id) => [id, []]));
    for (const { app_id, ...env } of rows) envs.get(app_id)?.push(env);
    return apps.map(({ created_at, ...app }) => ({ ...app, envs: envs.get(app.id) ?? [], created_at }));
  }
}
