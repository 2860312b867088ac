import type { AppScope } from '../apps/apps.service.js';
import type { RowSource } from '../exports/row-pages.js';
import type { SpanKey } from './traces.input.js';
import type { TracesRepository } from './traces.repository.js';
import { type SpanRange, type TracesQuery, isCheap } from './traces.statement.js';

/** The spans of a query, for `readPages`. */
export function createSpanSource(
  repository: TracesRepository,
  scope: AppScope,
  query: TracesQuery,
): RowSource<SpanKey, SpanRange> {
  return {
    isCheap: query.filters.every(isCheap),
    findRange: async (after, count) => ({
      after,
      last: await repository.findKey(scope, query, after, count),
    }),
    readPage: (range, limit) => repository.page(scope, query, range, limit),
    count: (range) => repository.count(scope, query, range),
  };
}
