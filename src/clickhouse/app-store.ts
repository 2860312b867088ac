import { Injectable } from '@nestjs/common';
import type { AppScope } from '../apps/apps.service.js';
import { ClickHouse, type QueryOptions } from './clickhouse.client.js';
import type { Parameters } from './literals.js';

/**
 * The store as the repositories of an app's data see it: no statement runs without a scope, and `{app_id:UInt32}`
 * in it is always the scope's.
 */
@Injectable()
export class AppStore {
  constructor(private readonly store: ClickHouse) {}

  /** See `ClickHouse.text`. */
  text(
    scope: AppScope,
    name: string,
    sql: string,
    params: Parameters = {},
    options?: QueryOptions,
  ): Promise<string> {
    return this.store.text(name, sql, { ...params, app_id: scope.appId }, options);
  }

  /** See `ClickHouse.rows`. */
  rows<Row>(
    scope: AppScope,
    name: string,
    sql: string,
    params: Parameters = {},
    options?: QueryOptions,
  ): Promise<Row[]> {
    return this.store.rows<Row>(name, sql, { ...params, app_id: scope.appId }, options);
  }
}
