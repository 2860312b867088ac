import { Injectable } from '@nestjs/common';
import { ClickHouse, type FileQuery, type QueryOptions } from '../clickhouse/clickhouse.client.js';
import type { JsonLines } from '../clickhouse/json-lines.js';
import type { Parameters } from '../clickhouse/query-parameters.js';
import type { AppScope } from './apps.service.js';

type ScopedOptions = Omit<QueryOptions, 'signal' | 'teamId'>;

/**
 * The store for repositories of an app's data: every statement needs a scope, which sets `{app_id:UInt32}`. Queries are
 * cancelled with the scope's request.
 */
@Injectable()
export class AppScopedStore {
  constructor(private readonly store: ClickHouse) {}

  /** See `ClickHouse.jsonLines`. */
  jsonLines(
    scope: AppScope,
    name: string,
    sql: string,
    params: Parameters = {},
    options?: ScopedOptions,
  ): Promise<JsonLines> {
    return this.store.jsonLines(name, sql, bindAppId(scope, params), scoped(scope, options));
  }

  /** See `ClickHouse.file`. */
  file(
    scope: AppScope,
    name: string,
    query: FileQuery,
    params: Parameters = {},
    options?: Omit<QueryOptions, 'signal'>,
  ): Promise<Buffer> {
    return this.store.file(name, query, bindAppId(scope, params), { ...options, signal: scope.signal });
  }

  /** See `ClickHouse.rows`. */
  rows<Row>(
    scope: AppScope,
    name: string,
    sql: string,
    params: Parameters = {},
    options?: ScopedOptions,
  ): Promise<Row[]> {
    return this.store.rows<Row>(name, sql, bindAppId(scope, params), scoped(scope, options));
  }
}

function scoped({ teamId, signal }: AppScope, options?: ScopedOptions): QueryOptions {
  return { ...options, teamId, signal };
}

function bindAppId({ appId }: AppScope, params: Parameters): Parameters {
  return { ...params, app_id: appId };
}
