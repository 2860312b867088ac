import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../../apps/app-scoped-store.js';
import type { AppScope } from '../../apps/apps.service.js';
import type { RequestLogKey } from '../request-log-key.js';
import type { ExportQuery, ExportRange } from './export-query.js';
import { countRows, findEnd, selectRows } from './export-statement.js';

/** Largest page in bytes: a page is in memory as a whole. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

@Injectable()
export class ExportRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * The end of the part that begins behind `after` and has `count` rows that filters on the key's columns choose. Its `last`
   * is undefined when there are fewer.
   */
  async findEnd(
    scope: AppScope,
    query: ExportQuery,
    after: RequestLogKey | undefined,
    count: number,
  ): Promise<Pick<ExportRange, 'last' | 'hasOlderRows'>> {
    const { sql, params } = findEnd(scope.appId, query, after, count);
    const [found] = await this.store.rows<{ at: number; uuid: string; rows: number; has_older_rows: 0 | 1 }>(
      scope,
      'request_logs.export_key',
      sql,
      params,
    );
    if (!found) throw new TypeError('An aggregate has one row');
    const last = found.rows < count ? undefined : { timestamp: found.at, request_uuid: found.uuid };
    return { last, hasOlderRows: found.has_older_rows === 1 };
  }

  /** The number of rows of a range that match all filters. */
  async count(scope: AppScope, query: ExportQuery, range: ExportRange): Promise<number> {
    const { sql, params } = countRows(scope.appId, query, range);
    const [row] = await this.store.rows<{ rows: number }>(scope, 'request_logs.export_count', sql, params);
    return row?.rows ?? 0;
  }

  /**
   * The rows of a range as one file, at most `limit`.
   *
   * @throws an error for which `exceedsLimits` is true, if the range is too large
   */
  page(scope: AppScope, query: ExportQuery, range: ExportRange, limit: number | undefined): Promise<Buffer> {
    const { params, ...file } = selectRows(scope.appId, query, range, limit);
    const options = { maxResultBytes: MAX_PAGE_BYTES };
    return this.store.file(scope, 'request_logs.export', { format: query.format, ...file }, params, options);
  }
}
