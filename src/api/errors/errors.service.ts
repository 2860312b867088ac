import { Injectable } from '@nestjs/common';
import { logsRetainedFrom, trafficRetainedFrom } from '../../config/retention.js';
import type { Account } from '../../platform/http/account.js';
import { FileResponse } from '../../platform/http/file-response.js';
import { tooMuch } from '../../queries/files/too-much.js';
import { type FileFormat, MEDIA_TYPES } from '../../shared/file-format.js';
import { planPeriods } from '../app-metrics/metric-periods.js';
import { AppsService } from '../apps/apps.service.js';
import { QUARTER_MS, roundWindow } from '../changes/compared-windows.js';
import type { QueryErrorsInput } from './errors.input.js';
import { ErrorsRepository, MAX_ROWS } from './errors.repository.js';

@Injectable()
export class ErrorsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: ErrorsRepository,
  ) {}

  /** The errors of a window as one file. */
  async query(account: Account, input: QueryErrorsInput, acceptedFormat: FileFormat): Promise<FileResponse> {
    const scope = await this.apps.require(account, input.app_id);
    const { window, group_by, timezone, filters, limit } = input;
    const { now } = window;
    // Errors are counted by quarter-hours alone.
    const { start, end } = roundWindow({ start: window.since, end: window.until }, QUARTER_MS);
    const interval = group_by.find((group) => group !== 'consumer_id');
    const { bounds } = planPeriods({ since: start, until: end, now, interval, timezone, byConsumer: true });
    const format = input.format ?? acceptedFormat;
    const query = {
      format,
      bounds,
      interval,
      byConsumer: group_by.includes('consumer_id'),
      filters,
      limit,
      countsFrom: Math.ceil(trafficRetainedFrom(now) / QUARTER_MS) * (QUARTER_MS / 1000),
      textsFrom: logsRetainedFrom(now),
    };
    try {
      return new FileResponse(MEDIA_TYPES[format], await this.repository.query(scope, query));
    } catch (error) {
      throw tooMuch(error, input.body, MAX_ROWS) ?? error;
    }
  }
}
