import { Injectable } from '@nestjs/common';
import { ClickHouse, type FileQuery, type QueryOptions } from '../../store/client/clickhouse.client.js';
import type { JsonLines } from '../../store/client/json-lines.js';
import type { Parameters } from '../../store/client/query-parameters.js';
import type { AppScope } from './apps.service.js';

type ScopedOptions = Omit<QueryOptions, 'teamId'>;

/**
 * The store for repositories of an app's data: no statement runs without a scope, and `{app_id:UInt32}` in it
 * is always the scope's.
 */
@Injectable()
export class AppScopedStore {
  constructor(private readonly store: ClickHouse) {}

  /** See `ClickHouse.getVersion`. */
  getVersion(table: string): number | undefined {
    return this.store.getVersion(table);
  }

  /** See `ClickHouse.jsonLines`. */
  jsonLines(
    scope: AppScope,
    name: string,
    sql: string,
    params: Parameters = {},
    options?: ScopedOptions,
  ): Promise<JsonLines> {
    return this.store.jsonLines(name, sql, bindAppId(scope, params), { ...options, teamId: scope.teamId });
  }

  /** See `ClickHouse.file`. */
  file(
    scope: AppScope,
    name: string,
    query: FileQuery,
    params: Parameters = {},
    options?: ScopedOptions,
  ): Promise<Buffer> {
    return this.store.file(name, query, bindAppId(scope, params), { ...options, teamId: scope.teamId });
  }

  /** See `ClickHouse.rows`. */
  rows<Row>(
    scope: AppScope,
    name: string,
    sql: string,
    params: Parameters = {},
    options?: ScopedOptions,
  ): Promise<Row[]> {
    return this.store.rows<Row>(name, sql, bindAppId(scope, params), { ...options, teamId: scope.teamId });
  }
}

function bindAppId({ appId }: AppScope, params: Parameters): Parameters {
  return { ...params, app_id: appId };
}
