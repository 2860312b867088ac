import { Injectable } from '@nestjs/common';
import type { AppScope } from '../apps/apps.service.js';
import { AppStore } from '../clickhouse/app-store.js';
import { and, methodIn, pathMatches } from '../common/filters/predicates.js';
import type { Endpoint } from './endpoints.dto.js';

export interface EndpointFilter {
  app_env_id?: number | undefined;
  method?: string | undefined;
  path?: string | undefined;
}

const LIST = `
SELECT id, method, path
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}`;

const SEEN_IN = `id IN (
    SELECT endpoint_id FROM endpoint_activity_v1
    WHERE app_id = {app_id:UInt32} AND app_env_id = {app_env_id:Int64}
  )`;

@Injectable()
export class EndpointsRepository {
  constructor(private readonly store: AppStore) {}

  /** Endpoints by path, then method; with an environment those that were seen in it (contract, section 5). */
  list(scope: AppScope, { app_env_id, method, path }: EndpointFilter): Promise<Endpoint[]> {
    const seenIn = app_env_id === undefined ? undefined : { sql: SEEN_IN, params: { app_env_id } };
    const { sql, params } = and(seenIn, methodIn(method), pathMatches(path));
    return this.store.rows<Endpoint>(
      scope,
      'endpoints.list',
      `${LIST}${sql}\nORDER BY path, method, id`,
      params,
    );
  }
}
