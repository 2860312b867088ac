import type { AppScope } from '../../apps/apps.service.js';
import type { RowSource } from '../../exports/row-pages.js';
import type { RowKey } from './row-key.js';
import { type ExportQuery, type ExportRange, isCheap } from './export-statement.js';
import type { ExportRepository } from './export.repository.js';

/** The request logs of an export, for `readPages`. */
export function createExportSource(
  repository: ExportRepository,
  scope: AppScope,
  query: ExportQuery,
): RowSource<RowKey, ExportRange> {
  return {
    isCheap: query.filters.every(isCheap),
    findRange: async (after, count) => ({
      after,
      ...(await repository.findEnd(scope, query, after, count)),
    }),
    readPage: (range, limit) => repository.page(scope, query, range, limit),
    count: (range) => repository.count(scope, query, { hasOlderRows: false, ...range }),
  };
}
