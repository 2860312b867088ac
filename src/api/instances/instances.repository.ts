import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { type Predicate, and, envIs } from '../../queries/predicates.js';
import type { Window } from '../../shared/time/window.js';
import type { Instance, InstanceResources } from './instances.dto.js';

/** The last instance of the previous page. */
export type InstanceKey = readonly [firstSeen: number, instanceUuid: string, envId: number];

export interface InstanceQuery {
  app_env_id?: number | undefined;
  window: Window;
  after?: InstanceKey | undefined;
  limit: number;
}

interface OfInstance {
  app_env_id: number;
  instance_uuid: string;
}

export type InstanceRow = OfInstance &
  Pick<Instance, 'env' | 'app_version' | 'framework' | 'first_seen' | 'last_seen'>;

/** What a process gave at its last start. */
export type StartRow = OfInstance & Pick<Instance, 'client' | 'versions'>;

/** `period` is the number of the period in the window. */
export type ResourcesRow = OfInstance & Omit<InstanceResources, 'period_start'> & { period: number };

// A process of a client library gives its version at its start alone: reports without one do not count.
const PAGE = (filter: string, after: string) => `
SELECT p.app_env_id AS app_env_id, e.name AS env, p.uuid AS instance_uuid, nullIf(p.version, '') AS app_version, nullIf(p.used, '') AS framework,
  p.first AS first_seen, p.last AS last_seen
FROM (
  SELECT app_env_id, toString(instance_uuid) AS uuid, argMaxIf(i.app_version, i.last_seen, i.app_version != '') AS version,
    max(i.framework) AS used, min(i.first_seen) AS first, max(i.last_seen) AS last
  FROM instances_v1 AS i
  WHERE app_id = {app_id:UInt32}${filter}
  GROUP BY app_env_id, instance_uuid
  HAVING last >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND first < fromUnixTimestamp64Milli({end:Int64}, 'UTC')${after}
  ORDER BY first DESC, uuid DESC, app_env_id DESC
  LIMIT {limit:UInt32}
) AS p
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = p.app_env_id
ORDER BY p.first DESC, p.uuid DESC, p.app_env_id DESC`;

const AFTER = `(first, uuid, app_env_id)
      < (fromUnixTimestamp64Milli({after_first:Int64}, 'UTC'), {after_uuid:String}, {after_env:UInt32})`;

const STARTS = `
SELECT app_env_id, toString(v.instance_uuid) AS instance_uuid, nullIf(argMax(v.client, v.started_at), '') AS client,
  argMax(v.versions, v.started_at) AS versions
FROM instance_versions_v1 AS v
WHERE app_id = {app_id:UInt32} AND v.instance_uuid IN {uuids:Array(UUID)}
GROUP BY app_env_id, v.instance_uuid`;

const RESOURCES = `
SELECT app_env_id, toString(r.instance_uuid) AS instance_uuid,
  toUInt32(intDiv(toUnixTimestamp64Milli(timestamp) - {start:Int64}, {step:Int64})) AS period,
  if(countIf(r.cpu_percent >= 0) = 0, NULL, round(avgIf(toFloat64(r.cpu_percent), r.cpu_percent >= 0), 1)) AS cpu_percent,
  if(countIf(r.memory_rss >= 0) = 0, NULL, toFloat64(maxIf(r.memory_rss, r.memory_rss >= 0))) AS memory_rss_bytes
FROM instance_resources_v1 AS r
WHERE app_id = {app_id:UInt32} AND r.instance_uuid IN {uuids:Array(UUID)}
  AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
  AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
GROUP BY app_env_id, r.instance_uuid, period
ORDER BY period`;

@Injectable()
export class InstancesRepository {
  constructor(private readonly store: AppScopedStore) {}

  /** Instances with a report in the window, by their first report, newest first. */
  page(scope: AppScope, { app_env_id, window, after, limit }: InstanceQuery): Promise<InstanceRow[]> {
    const env = and(envIs(app_env_id));
    const next = and(after && isAfter(after));
    const params = { ...env.params, ...next.params, ...window, limit };
    return this.store.rows(scope, 'instances.page', PAGE(env.sql, next.sql), params);
  }

  findStarts(scope: AppScope, uuids: readonly string[]): Promise<StartRow[]> {
    return this.store.rows(scope, 'instances.starts', STARTS, { uuids });
  }

  /** @param step length of a period, in milliseconds */
  findResources(
    scope: AppScope,
    uuids: readonly string[],
    window: Window,
    step: number,
  ): Promise<ResourcesRow[]> {
    return this.store.rows(scope, 'instances.resources', RESOURCES, { uuids, ...window, step });
  }
}

function isAfter([after_first, after_uuid, after_env]: InstanceKey): Predicate {
  return { sql: AFTER, params: { after_first, after_uuid, after_env } };
}
