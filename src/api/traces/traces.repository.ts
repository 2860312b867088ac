import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { MAX_PAGE_BYTES, type RowSource } from '../../queries/files/row-pages.js';
import type { SpanKey } from './traces.input.js';
import { type TracesQuery, countSpans, findKey, isCheapToRead, selectSpans } from './traces.statement.js';

@Injectable()
export class TracesRepository {
  constructor(private readonly store: AppScopedStore) {}

  /** The spans of a query, for `readPages`. If a page is too large, `exceedsLimits` is true for the error. */
  createSource(scope: AppScope, query: TracesQuery): RowSource<SpanKey> {
    return {
      isCheap: query.filters.every(isCheapToRead),
      findRange: async (after, count) => {
        const { sql, params } = findKey(query, after, count);
        const [row] = await this.store.rows<{ start: string; trace: string; span: string }>(
          scope,
          'traces.key',
          sql,
          params,
        );
        const last = row && { start_time_ns: BigInt(row.start), trace_id: row.trace, span_id: row.span };
        return { after, last };
      },
      readPage: (range, limit) => {
        const { params, ...file } = selectSpans(query, range, limit);
        const options = { maxResultBytes: MAX_PAGE_BYTES };
        return this.store.file(scope, 'traces.query', { format: query.format, ...file }, params, options);
      },
      count: async (range) => {
        const { sql, params } = countSpans(query, range);
        const [row] = await this.store.rows<{ rows: number }>(scope, 'traces.count', sql, params);
        return row?.rows ?? 0;
      },
    };
  }
}
