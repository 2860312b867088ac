import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import { ResultTooLarge, ResultTooLong } from '../clickhouse/clickhouse.errors.js';
import type { Account } from '../common/account.js';
import { FileResponse } from '../common/formats/file-response.js';
import type { FileFormat } from '../common/formats/file-format.js';
import { createIssue, valueError } from '../validation/issues.js';
import { ValidationException } from '../validation/validation.exception.js';
import type { QueryMetricsInput } from './app-metrics.input.js';
import { AppMetricsRepository, MAX_ROWS, type TimeErrors } from './app-metrics.repository.js';
import { planPeriods } from './metric-periods.js';

/**
 * The largest error of a percentile against the nearest-rank value of the exact times: 1.1 % by the bins, and 5 ms if client
 * libraries counted in bins of 10 ms, which is not stored. Histograms of other senders may have wider buckets.
 */
const BIN_ERROR = 0.011;
const INTERVAL_ERROR_MS = 5;

@Injectable()
export class AppMetricsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: AppMetricsRepository,
  ) {}

  /** @param maxRows a result with more is a 422 */
  async query(
    account: Account,
    input: QueryMetricsInput,
    acceptedFormat: FileFormat,
    maxRows = MAX_ROWS,
  ): Promise<FileResponse> {
    const scope = await this.apps.require(account, input.app_id);
    const { window, interval, timezone, metrics, group_by, filters, apdex_threshold_ms } = input;
    const byConsumer =
      scope.consumerId !== undefined ||
      group_by.includes('consumer_id') ||
      filters.some(({ field }) => field === 'consumer_id');
    const query = {
      ...planPeriods({ ...window, interval, timezone, byConsumer }),
      format: input.format ?? acceptedFormat,
      metrics,
      groupBy: group_by,
      apdexThresholdMs: apdex_threshold_ms,
      expectedErrors: scope.expectedErrors,
      now: window.now,
    };
    const hasPercentiles = metrics.some((metric) => metric.startsWith('response_time_'));
    const [body, errors] = await Promise.all([
      this.repository.query(scope, query, filters, maxRows),
      hasPercentiles ? this.repository.findErrors(scope, query) : undefined,
    ]).catch((error: unknown) => {
      throw tooMuch(error, input, maxRows) ?? error;
    });
    return new FileResponse(
      query.format,
      body,
      errors ? { 'X-Percentile-Accuracy': describeAccuracy(errors) } : {},
    );
  }
}

/** Rounded up, so that it stays a bound. */
function describeAccuracy({ relative_error, absolute_error_ms }: TimeErrors): string {
  const relative = Math.ceil(Math.max(BIN_ERROR, relative_error) * 1000) / 1000;
  return `${relative} +${Math.ceil(Math.max(INTERVAL_ERROR_MS, absolute_error_ms))}ms`;
}

/** Maps a result beyond the limits to a 422 for the body; undefined for other errors. */
function tooMuch(
  error: unknown,
  { body }: QueryMetricsInput,
  maxRows: number,
): ValidationException | undefined {
  const why =
    error instanceof ResultTooLong
      ? `the result has more than ${maxRows} rows`
      : error instanceof ResultTooLarge && 'the result has too many bytes';
  return why ? new ValidationException([createIssue('body', [], body, valueError(why))]) : undefined;
}
