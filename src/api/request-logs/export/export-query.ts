import type { RequestScope } from '../../../queries/predicates.js';
import type { FileFormat } from '../../../shared/file-format.js';
import type { Window } from '../../../shared/time/window.js';
import type { RowRange } from '../../../queries/files/row-pages.js';
import type { RequestLogKey } from '../request-log-key.js';
import type { ExportField, ExportFilter } from './export.input.js';

/** What is to be exported. */
export interface ExportQuery {
  readonly format: FileFormat;
  /**
   * `whole`: rows are records with all that was captured, in the shape of Request Details; as NDJSON alone.
   */
  readonly fields: readonly ExportField[] | 'whole';
  readonly filters: readonly ExportFilter[];
  readonly window: Window;
  readonly scope: RequestScope;
  /** Rows are chosen whose UUID has a hash below this; without it all are. */
  readonly hashBelow?: bigint | undefined;
}

export type ExportRange = RowRange<RequestLogKey>;
