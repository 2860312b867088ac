import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { type Predicate, and, methodIn, pathMatches } from '../clickhouse/predicates.js';
import type { Endpoint } from './endpoints.dto.js';

export interface EndpointFilter {
  app_env_id?: number | undefined;
  method?: string | undefined;
  path?: string | undefined;
}

/** Above the number of most apps, so that their endpoints are one read. */
export const ENDPOINTS_PER_READ = 10_000;

const LIST = (filter: string) => `
SELECT id, method, path
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}${filter}
ORDER BY path, method, id
LIMIT ${ENDPOINTS_PER_READ}`;

const BEHIND = '(path, method, id) > ({after_path:String}, {after_method:String}, {after_id:UInt32})';

const SEEN_IN = `id IN (
    SELECT endpoint_id FROM endpoint_activity_v1
    WHERE app_id = {app_id:UInt32} AND app_env_id = {app_env_id:Int64}
  )`;

@Injectable()
export class EndpointsRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * Endpoints by path, then method; with an environment those that were seen in it (docs/contract.md#endpoints-of-env).
   */
  async *list(scope: AppScope, { app_env_id, method, path }: EndpointFilter): AsyncGenerator<Endpoint[]> {
    const seenIn = app_env_id === undefined ? undefined : { sql: SEEN_IN, params: { app_env_id } };
    let after: Endpoint | undefined;
    do {
      const { sql, params } = and(seenIn, methodIn(method), pathMatches(path), behind(after));
      const rows = await this.store.rows<Endpoint>(scope, 'endpoints.list', LIST(sql), params);
      yield rows;
      after = rows[ENDPOINTS_PER_READ - 1];
    } while (after);
  }
}

function behind(after: Endpoint | undefined): Predicate | undefined {
  return (
    after && {
      sql: BEHIND,
      params: { after_path: after.path, after_method: after.method, after_id: after.id },
    }
  );
}
