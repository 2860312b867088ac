import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import { AcceptedFormat, type FileResponse } from '../../platform/http/file-response.js';
import type { FileFormat } from '../../shared/file-format.js';
import { QueryOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { MetricsRow } from './app-metrics.dto.js';
import { QueryMetricsInput } from './app-metrics.input.js';
import { AppMetricsService } from './app-metrics.service.js';

@Controller('v1/apps/:app_id/metrics')
export class AppMetricsController {
  constructor(private readonly service: AppMetricsService) {}

  @QueryOperation({
    id: 'queryMetrics',
    tag: 'Metrics',
    summary: 'Query Metrics',
    description:
      'Returns aggregated metrics of one app: counts, errors, sizes and response times, by period and by the fields to ' +
      'group by, oldest period first. Excluded endpoints and groups without requests are left out. One response has ' +
      'all rows, at most 1,000,000.',
    input: QueryMetricsInput,
    row: MetricsRow,
    bodies: {
      days: {
        summary: 'Each day that is kept, as CSV',
        value: {
          since: '2020-01-01',
          metrics: ['requests', 'error_rate', 'response_time_p95'],
          interval: 'day',
          format: 'csv',
        },
      },
      endpoints: {
        summary: 'Each endpoint, over all that is kept',
        value: {
          since: '2020-01-01',
          metrics: ['requests', 'client_errors', 'server_errors', 'response_time_p95'],
          group_by: ['method', 'path'],
          format: 'csv',
        },
      },
    },
    headers: ['X-Percentile-Accuracy', 'X-Consumer-Coverage'],
  })
  query(
    @CurrentAccount() account: Account,
    @Input() input: QueryMetricsInput,
    @AcceptedFormat() acceptedFormat: FileFormat,
  ): Promise<FileResponse> {
    return this.service.query(account, input, acceptedFormat);
  }
}
