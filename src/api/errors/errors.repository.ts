import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { type ErrorsQuery, buildStatement } from './errors.statement.js';

/** Largest number of rows, and of their bytes, of a response. */
export const MAX_ROWS = 100_000;
const MAX_BYTES = 32 * 1024 * 1024;

const THREADS = 2;

@Injectable()
export class ErrorsRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * The rows of errors as a file.
   *
   * @throws ResultTooLong or ResultTooLarge beyond the limits
   */
  query(scope: AppScope, query: ErrorsQuery): Promise<Buffer> {
    const { sql, columns, params } = buildStatement(scope, query);
    const file = { format: query.format, columns, sql, maxRows: MAX_ROWS };
    return this.store.file(scope, 'errors.query', file, params, {
      threads: THREADS,
      maxResultBytes: MAX_BYTES,
    });
  }
}
