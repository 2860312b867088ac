import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import type { SpanKey } from './traces.input.js';
import { type SpanRange, type TracesQuery, countRows, findKey, selectRows } from './traces.statement.js';

/** Largest page in bytes: a page is in memory as a whole. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

@Injectable()
export class TracesRepository {
  constructor(private readonly store: AppScopedStore) {}

  /** The key of the `count`th row after `after` that matches the cheap filters; undefined if there are fewer. */
  async findKey(
    scope: AppScope,
    query: TracesQuery,
    after: SpanKey | undefined,
    count: number,
  ): Promise<SpanKey | undefined> {
    const { sql, params } = findKey(query, after, count);
    const [row] = await this.store.rows<{ start: string; trace: string; span: string }>(
      scope,
      'traces.key',
      sql,
      params,
    );
    return row && { start_time_ns: BigInt(row.start), trace_id: row.trace, span_id: row.span };
  }

  /** The number of rows of a range that match all filters. */
  async count(scope: AppScope, query: TracesQuery, range: SpanRange): Promise<number> {
    const { sql, params } = countRows(query, range);
    const [row] = await this.store.rows<{ rows: number }>(scope, 'traces.count', sql, params);
    return row?.rows ?? 0;
  }

  /**
   * The rows of a range as one file, at most `limit`.
   *
   * @throws an error for which `exceedsLimits` is true, if the range is too large
   */
  page(scope: AppScope, query: TracesQuery, range: SpanRange, limit: number | undefined): Promise<Buffer> {
    const { params, ...file } = selectRows(query, range, limit);
    const options = { maxResultBytes: MAX_PAGE_BYTES };
    return this.store.file(scope, 'traces.query', { format: query.format, ...file }, params, options);
  }
}
