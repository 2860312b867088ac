import { Injectable } from '@nestjs/common';
import type { AppScope } from '../../apps/apps.service.js';
import { AppStore } from '../../clickhouse/app-store.js';
import type { RowKey } from './export-body.fields.js';
import { type ExportQuery, type ExportRange, countRows, findKey, selectRows } from './export-statement.js';

/** The most bytes of one page: a page is in memory as a whole. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

@Injectable()
export class ExportRepository {
  constructor(private readonly store: AppStore) {}

  /**
   * The key of the row that is `count`th behind `after`, of the rows that filters on columns choose; undefined when there are
   * fewer.
   */
  async findKey(
    scope: AppScope,
    query: ExportQuery,
    after: RowKey | undefined,
    count: number,
  ): Promise<RowKey | undefined> {
    const { sql, params } = findKey(scope.appId, query, after, count);
    const [row] = await this.store.rows<{ at: number; uuid: string }>(
      scope,
      'request_logs.export_key',
      sql,
      params,
    );
    return row && { timestamp: row.at, request_uuid: row.uuid };
  }

  /** How many rows of a range fulfil all filters. */
  async count(scope: AppScope, query: ExportQuery, range: ExportRange): Promise<number> {
    const { sql, params } = countRows(scope.appId, query, range);
    const [row] = await this.store.rows<{ rows: number }>(scope, 'request_logs.export_count', sql, params);
    return row?.rows ?? 0;
  }

  /**
   * The rows of a range as one file, the first `limit` at most.
   *
   * @throws an error of which `exceedsLimits` holds, when the range is too large
   */
  page(scope: AppScope, query: ExportQuery, range: ExportRange, limit: number | undefined): Promise<Buffer> {
    const { columns, isText, sql, params } = selectRows(scope.appId, query, range, limit);
    const options = { maxResultBytes: MAX_PAGE_BYTES, teamId: scope.teamId };
    return this.store.file(
      scope,
      'request_logs.export',
      { format: query.format, columns, isText, sql },
      params,
      options,
    );
  }
}
