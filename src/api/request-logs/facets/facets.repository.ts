import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../../apps/app-scoped-store.js';
import type { AppScope } from '../../apps/apps.service.js';
import { and, inScope } from '../../../queries/predicates.js';
import { HAS_NO_EXCEPTION, selectExceptions } from '../../../records/request-exceptions.js';
import type { Window } from '../../../shared/time/window.js';
import { type RequestLogFilter, columnPredicates } from '../request-log.filter.js';
import type { Facet } from './facets.dto.js';
import type { FacetField } from './facets.input.js';

interface FacetRow extends Facet {
  /** Number of all values, and of all requests. */
  all_values: number;
  all_requests: number;
}

/** The most frequent values of `grouped`, with their names. */
const TOP = (grouped: string, value = 'v', join = '', id = '') => `
SELECT ${value} AS value, ${id}t.n AS requests, t.all_values AS all_values, t.all_requests AS all_requests
FROM (
  SELECT v, n, count() OVER () AS all_values, sum(n) OVER () AS all_requests
  FROM (${grouped}
  )
  ORDER BY n DESC, v
  LIMIT {limit:UInt32}
) AS t${join}
ORDER BY requests DESC, value`;

const count = (value: string, where: string) => `
    SELECT ${value} AS v, count() AS n
    FROM request_logs_v1
    WHERE ${where}
    GROUP BY v`;

/** The statement of each field. Endpoints may share a path, so their paths are found before the top. */
const STATEMENTS: Readonly<Record<FacetField, (where: string) => string>> = {
  env: (where) =>
    TOP(
      count('app_env_id', where),
      'toString(e.name)',
      `
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = t.v`,
      't.v AS id, ',
    ),
  consumer: (where) =>
    TOP(
      count('consumer_id', where),
      'if(t.v = 0, NULL, c.identifier)',
      `
LEFT JOIN (
  SELECT id, identifier FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32}
) AS c ON c.id = t.v`,
      'nullIf(t.v, 0) AS id, ',
    ),
  method: (where) => TOP(count('toString(method)', where)),
  path: (where) =>
    TOP(`
    SELECT if(c.v = 0, NULL, e.path) AS v, sum(c.n) AS n
    FROM (${count('endpoint_id', where)}
    ) AS c
    LEFT JOIN (SELECT id, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = c.v
    GROUP BY v`),
  status_code: (where) => TOP(count('status_code', where), 'toString(t.v)'),
  client_country_iso_code: (where) => TOP(count(`nullIf(toString(client_country_iso_code), '')`, where)),
  // As in exports, the exception of a failed request may be in its trace.
  exception_type: (where) =>
    TOP(`
    SELECT v, sum(n) AS n
    FROM (${count('toNullable(toString(exception_type))', `${where}\n      AND NOT ${HAS_NO_EXCEPTION}`)}
    UNION ALL
    SELECT found.found_type AS v, count() AS n
    FROM (
      SELECT timestamp, request_uuid
      FROM request_logs_v1
      WHERE ${where}
        AND ${HAS_NO_EXCEPTION}
    ) AS logs
    LEFT ANY JOIN (${selectExceptions(where)}
    ) AS found USING (timestamp, request_uuid)
    GROUP BY v
    )
    GROUP BY v`),
};

@Injectable()
export class FacetsRepository {
  constructor(private readonly store: AppScopedStore) {}

  count(
    scope: AppScope,
    field: FacetField,
    filter: RequestLogFilter,
    { start, end }: Window,
    limit: number,
  ): Promise<FacetRow[]> {
    const { sql, params } = and(...columnPredicates(filter), ...inScope(scope));
    const where = `app_id = {app_id:UInt32}
      AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
      AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')${sql}`;
    const values = { ...params, start, end, limit };
    return this.store.rows<FacetRow>(scope, 'request_logs.facets', STATEMENTS[field](where), values);
  }
}
