import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../../apps/app-scoped-store.js';
import type { AppScope } from '../../apps/apps.service.js';
import { MAX_PAGE_BYTES, type RowSource } from '../../../queries/files/row-pages.js';
import type { RequestLogKey } from '../request-log-key.js';
import { canSelectPage } from './export-conditions.js';
import type { ExportQuery, ExportRange } from './export-query.js';
import { countLogs, findEnd, selectLogs } from './export-statement.js';

/**
 * Shorter than a partition of the logs, so that the end of a page is found in one or two partitions instead
 * of all.
 */
const FIRST_SPAN_MS = 86_400_000;

@Injectable()
export class ExportRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * The request logs of an export, for `readPages`. If a page is too large, `exceedsLimits` is true for the
   * error.
   */
  createSource(scope: AppScope, query: ExportQuery): RowSource<RequestLogKey> {
    const { window } = query;
    // If the rows of a page reach beyond the first day, so will the next pages.
    let isDense = true;
    return {
      isCheap: query.filters.every(canSelectPage),
      findRange: async (after, count) => {
        const end = Math.max(window.start, after?.timestamp ?? 0) + FIRST_SPAN_MS;
        if (isDense && end < window.end) {
          const first = { ...query, window: { ...window, end } };
          const found = await this.findRange(scope, first, after, count);
          if (found.last !== undefined) return found;
          isDense = false;
        }
        return this.findRange(scope, query, after, count);
      },
      readPage: (range, limit) => {
        const { params, ...file } = selectLogs(scope.appId, query, range, limit);
        const options = { maxResultBytes: MAX_PAGE_BYTES };
        return this.store.file(scope, 'request_logs.export', file, params, options);
      },
      count: async (range) => {
        const { sql, params } = countLogs(scope.appId, query, range);
        const [row] = await this.store.rows<{ rows: number }>(
          scope,
          'request_logs.export_count',
          sql,
          params,
        );
        return row?.rows ?? 0;
      },
    };
  }

  /**
   * The range after `after` with `count` rows that filters on the key's columns select, or with all remaining
   * rows.
   */
  private async findRange(
    scope: AppScope,
    query: ExportQuery,
    after: RequestLogKey | undefined,
    count: number,
  ): Promise<ExportRange> {
    const { sql, params } = findEnd(scope.appId, query, after, count);
    const [found] = await this.store.rows<{ at: number; uuid: string; rows: number }>(
      scope,
      'request_logs.export_key',
      sql,
      params,
    );
    if (!found) throw new TypeError('An aggregate has one row');
    const last = found.rows < count ? undefined : { timestamp: found.at, request_uuid: found.uuid };
    return { after, last };
  }
}
