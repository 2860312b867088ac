import type { RequestScope } from '../../../queries/predicates.js';
import type { ExportFormat } from '../../../shared/file-format.js';
import type { Window } from '../../../shared/time/window.js';
import type { RowRange } from '../../../queries/files/row-pages.js';
import type { RequestLogKey } from '../request-log-key.js';
import type { ExportField, ExportFilter } from './export.input.js';

/** The content of an export. */
export interface ExportQuery {
  readonly format: ExportFormat;
  /** `whole`: rows are records with everything captured, in the shape of Request Details; only for NDJSON. */
  readonly fields: readonly ExportField[] | 'whole';
  readonly filters: readonly ExportFilter[];
  readonly window: Window;
  readonly scope: RequestScope;
  /** Only rows whose UUID has a hash below this bound; undefined: all rows. */
  readonly hashBelow?: bigint | undefined;
}

export type ExportRange = RowRange<RequestLogKey>;
