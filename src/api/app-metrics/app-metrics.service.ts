import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import { ConsumerCoverage } from '../apps/consumer-coverage.js';
import type { Account } from '../../platform/http/account.js';
import { FileResponse } from '../../platform/http/file-response.js';
import { type FileFormat, MEDIA_TYPES } from '../../shared/file-format.js';
import { FileStreams } from '../../queries/files/file-streams.js';
import { readPages } from '../../queries/files/row-pages.js';
import { tooMuch } from '../../queries/files/too-much.js';
import { ReleasesService } from '../releases/releases.service.js';
import type { GroupField, QueryMetricsInput } from './app-metrics.input.js';
import { AppMetricsRepository, MAX_ROWS, type TimeErrors } from './app-metrics.repository.js';
import { planPeriods } from './metric-periods.js';

/** The largest error of a percentile by the bins, against the nearest-rank value of the exact times. */
const BIN_ERROR = 0.011;
/** Percentiles are whole milliseconds. */
const ROUNDING_MS = 0.5;

@Injectable()
export class AppMetricsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: AppMetricsRepository,
    private readonly coverage: ConsumerCoverage,
    private readonly streams: FileStreams,
    private readonly releases: ReleasesService,
  ) {}

  /**
   * A long file is read and sent page by page.
   *
   * @param maxRows a result with more is a 422
   * @param countsTimed whether rows end with `timed_requests`, those with a response time
   */
  async query(
    account: Account,
    input: QueryMetricsInput,
    acceptedFormat: FileFormat,
    { maxRows = MAX_ROWS, countsTimed = false }: { maxRows?: number; countsTimed?: boolean } = {},
  ): Promise<FileResponse> {
    const scope = await this.apps.require(account, input.app_id);
    const { window, interval, timezone, metrics, group_by, filters, apdex_threshold_ms } = input;
    const uses = (name: GroupField) => group_by.includes(name) || filters.some(({ field }) => field === name);
    const byConsumer = scope.consumerId !== undefined || uses('consumer_id') || uses('consumer_group');
    const timeline = uses('app_version') ? await this.releases.findTimeline(scope, input.body) : undefined;
    const query = {
      ...planPeriods({ ...window, interval, timezone, byConsumer, timeline }),
      format: input.format ?? acceptedFormat,
      metrics: countsTimed ? [...metrics, 'timed_requests' as const] : metrics,
      groupBy: group_by,
      apdexThresholdMs: apdex_threshold_ms,
      expectedErrors: scope.expectedErrors,
      now: window.now,
    };
    const hasTimes = metrics.some((metric) => metric.startsWith('response_time_'));
    const readFile = async () => {
      const whole = await this.repository.query(scope, query, filters, maxRows);
      if (whole) return whole;
      const source = await this.repository.createSource(scope, query, filters);
      const { body } = await this.streams.respond(account, query.format, input.body, ({ joiner }) =>
        readPages(source, joiner, { maxRows }),
      );
      return body;
    };
    const [body, errors, coverage] = await Promise.all([
      readFile(),
      hasTimes ? this.repository.findErrors(scope, query) : undefined,
      byConsumer ? this.coverage.describe(scope, query.bounds) : {},
    ]).catch((error: unknown) => {
      throw tooMuch(error, input.body, maxRows) ?? error;
    });
    return new FileResponse(MEDIA_TYPES[query.format], body, {
      ...(errors && { 'X-Percentile-Accuracy': describeAccuracy(errors) }),
      ...coverage,
    });
  }
}

/**
 * The error of the bins, or of wider intervals and buckets of senders, rounded up so that it stays a bound.
 */
function describeAccuracy({ relative_error, absolute_error_ms }: TimeErrors): string {
  const relative = Math.ceil(Math.max(BIN_ERROR, relative_error) * 1000) / 1000;
  return `${relative} +${Math.ceil(absolute_error_ms + ROUNDING_MS)}ms`;
}
