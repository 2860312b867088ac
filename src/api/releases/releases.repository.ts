import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { type Predicate, and, envIs } from '../../queries/predicates.js';
import { NIL_UUID } from '../../shared/nil-uuid.js';
import type { Window } from '../../shared/time/window.js';
import type { Release } from './releases.dto.js';
import type { RunChange } from './version-timeline.js';

/** The last release of the previous page. */
export type ReleaseKey = readonly [firstSeen: number, version: string, envId: number];

export interface ReleaseQuery {
  app_env_id?: number | undefined;
  window: Window;
  after?: ReleaseKey | undefined;
  limit: number;
}

export type ReleaseRow = Release & { app_env_id: number };

/**
 * Each run of a version: from the first to the last report of one process. A mark is a run without a length.
 * A process of a client library gives its version at its start alone: its other reports belong to the version
 * that it started with last, at most until it starts with the next one. Processes without an ID have all the
 * same one, so of them only reports with a version count.
 */
const RUNS = `
    SELECT p.app_env_id AS app_env_id, run.2 AS app_version, run.1 AS began,
      greatest(run.3, if(p.instance_uuid = toUUID('${NIL_UUID}'), run.3, least(p.unnamed, next))) AS ended,
      toNullable(p.instance_uuid) AS instance
    FROM (
      SELECT app_env_id, instance_uuid,
        arraySort(groupArrayIf((first, app_version, last), app_version != '')) AS runs,
        maxIf(last, app_version = '') AS unnamed
      FROM (
        SELECT app_env_id, instance_uuid, app_version, min(i.first_seen) AS first, max(i.last_seen) AS last
        FROM instances_v1 AS i
        WHERE app_id = {app_id:UInt32}
        GROUP BY app_env_id, instance_uuid, app_version
      )
      GROUP BY app_env_id, instance_uuid
      HAVING notEmpty(runs)
    ) AS p
    ARRAY JOIN p.runs AS run,
      arrayPushBack(arrayPopFront(arrayMap(one -> one.1, p.runs)), toDateTime64('2200-01-01', 3, 'UTC')) AS next
    UNION ALL
    SELECT app_env_id, app_version, released_at, released_at, NULL
    FROM release_marks_v1 FINAL
    WHERE app_id = {app_id:UInt32} AND marked`;

const PAGE = (filter: string, after: string) => `
SELECT p.version AS version, e.name AS env, p.first AS first_seen, p.last AS last_seen, p.instances AS instances, p.app_env_id AS app_env_id
FROM (
  SELECT app_env_id, app_version AS version, min(began) AS first, max(ended) AS last, toUInt32(uniqExact(instance)) AS instances
  FROM (${RUNS}
  )
  WHERE app_version != ''${filter}
  GROUP BY app_env_id, app_version
  HAVING first >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND first < fromUnixTimestamp64Milli({end:Int64}, 'UTC')${after}
  ORDER BY first DESC, version DESC, app_env_id DESC
  LIMIT {limit:UInt32}
) AS p
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = p.app_env_id
ORDER BY p.first DESC, p.version DESC, p.app_env_id DESC`;

const AFTER = `(first, version, app_env_id)
      < (fromUnixTimestamp64Milli({after_first:Int64}, 'UTC'), {after_version:String}, {after_env:UInt32})`;

const BEGIN = (filter: string) => `
SELECT count() AS runs, toUnixTimestamp64Milli(min(began)) AS began_ms
FROM (${RUNS}
)
WHERE app_version = {version:String}${filter}`;

/**
 * Runs of one version that overlap are one, and so are those with nothing between them: there may be
 * thousands of short ones, such as jobs.
 */
const CHANGES = `
SELECT app_env_id, app_version, toUnixTimestamp64Milli(at) AS at_ms, change
FROM (
  SELECT app_env_id, app_version, at, change, pauses,
    lagInFrame(pauses) OVER next_to AS paused, lagInFrame(app_version) OVER next_to AS last_version,
    leadInFrame(change) OVER next_to AS next_change, leadInFrame(app_version) OVER next_to AS next_version
  FROM (
    SELECT app_env_id, app_version, at, change,
      sum(change) OVER in_env = 0 AND anyLast(if(change = 1, app_version, NULL)) OVER in_env = app_version AS pauses
    FROM (
      SELECT app_env_id, app_version, event.1 AS at, event.2 AS change,
        sum(change) OVER (PARTITION BY app_env_id, app_version ORDER BY at, change DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running
      FROM (${RUNS}
      )
      ARRAY JOIN [(began, toInt8(1)), (ended, toInt8(-1))] AS event
    )
    WHERE if(change = 1, running = 1, running = 0)
    WINDOW in_env AS (PARTITION BY app_env_id ORDER BY at, change DESC, app_version
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  )
  WINDOW next_to AS (PARTITION BY app_env_id ORDER BY at, change DESC, app_version
    ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
)
WHERE NOT (pauses AND next_change = 1 AND next_version = app_version)
  AND NOT (change = 1 AND paused AND last_version = app_version)
ORDER BY app_env_id, at, change DESC, app_version
LIMIT {limit:UInt32}`;

@Injectable()
export class ReleasesRepository {
  constructor(private readonly store: AppScopedStore) {}

  /** Releases that began in the window, newest first. */
  page(scope: AppScope, { app_env_id, window, after, limit }: ReleaseQuery): Promise<ReleaseRow[]> {
    const env = and(envIs(app_env_id));
    const next = and(after && isAfter(after));
    const params = { ...env.params, ...next.params, ...window, limit };
    return this.store.rows(scope, 'releases.page', PAGE(env.sql, next.sql), params);
  }

  /**
   * When a version began, in milliseconds since the epoch; undefined if it never ran.
   *
   * @param envs conditions on its environments
   */
  async findBegin(scope: AppScope, version: string, envs: readonly Predicate[]): Promise<number | undefined> {
    const { sql, params } = and(...envs);
    const [row] = await this.store.rows<{ runs: string; began_ms: string }>(
      scope,
      'releases.begin',
      BEGIN(sql),
      { ...params, version },
    );
    return row && Number(row.runs) > 0 ? Number(row.began_ms) : undefined;
  }

  /** Beginnings and ends of the versions of each environment, in the order of time. */
  async findChanges(scope: AppScope, limit: number): Promise<RunChange[]> {
    const rows = await this.store.rows<Omit<RunChange, 'at'> & { at_ms: string }>(
      scope,
      'releases.changes',
      CHANGES,
      { limit },
    );
    return rows.map(({ at_ms, ...change }) => ({ ...change, at: Number(at_ms) }));
  }
}

function isAfter([after_first, after_version, after_env]: ReleaseKey): Predicate {
  return { sql: AFTER, params: { after_first, after_version, after_env } };
}
