import type { AppScope } from '../../apps/apps.service.js';
import type { RowSource } from '../../exports/row-pages.js';
import type { RequestLogKey } from '../request-log-key.js';
import { isCheap } from './export-conditions.js';
import type { ExportQuery, ExportRange } from './export-query.js';
import type { ExportRepository } from './export.repository.js';

/** Less than a partition of the logs: then the end of a page is found in one or two of them, instead of in all. */
const FIRST_SPAN_MS = 86_400_000;

/** The request logs of an export, for `readPages`. */
export function createExportSource(
  repository: ExportRepository,
  scope: AppScope,
  query: ExportQuery,
): RowSource<RequestLogKey, ExportRange> {
  const { window } = query;
  // A page of rows that are far apart is beyond the first day, and so are the next ones.
  let isDense = true;
  return {
    isCheap: query.filters.every(isCheap),
    findRange: async (after, count) => {
      const end = Math.max(window.start, after?.timestamp ?? 0) + FIRST_SPAN_MS;
      if (isDense && end < window.end) {
        const first = { ...query, window: { ...window, end } };
        const found = await repository.findEnd(scope, first, after, count);
        if (found.last !== undefined) return { after, ...found };
        isDense = false;
      }
      return { after, ...(await repository.findEnd(scope, query, after, count)) };
    },
    readPage: (range, limit) => repository.page(scope, query, range, limit),
    count: (range) => repository.count(scope, query, { hasOlderRows: false, ...range }),
  };
}
