import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import type { FileResponse } from '../../platform/http/file-response.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { AcceptedExposition, type ExpositionFormat } from './exposition.js';
import { ScrapeAppInput, ScrapeTeamInput } from './prometheus.input.js';
import { PrometheusService } from './prometheus.service.js';

const MEDIA_TYPES = {
  text: ['text/plain', 'application/openmetrics-text'],
  binary: ['application/vnd.google.protobuf'],
} satisfies Record<string, ExpositionFormat[]>;

@Controller('v1')
export class PrometheusController {
  constructor(private readonly service: PrometheusService) {}

  @ReadOperation({
    id: 'getPrometheusMetrics',
    tag: 'Metrics',
    summary: 'Get Prometheus Metrics',
    description:
      'Returns counters and histograms of one app for a scrape by Prometheus: requests, response times and sizes since ' +
      'the start of the month (UTC), by environment, method, route and status. `Accept: application/openmetrics-text` ' +
      'gives OpenMetrics, and the type of Prometheus for protobuf also native histograms of response times. ' +
      '`GET /v1/prometheus` has the same of all apps of the team.',
    path: 'apps/:app_id/prometheus',
    input: ScrapeAppInput,
    ...MEDIA_TYPES,
  })
  scrapeApp(
    @CurrentAccount() account: Account,
    @Input() { app_id, routes }: ScrapeAppInput,
    @AcceptedExposition() format: ExpositionFormat,
  ): Promise<FileResponse> {
    return this.service.scrapeApp(account, app_id, routes, format);
  }

  /** The same operation: the document has it once, under its first path. */
  @ReadOperation({
    id: 'getPrometheusMetrics',
    tag: 'Metrics',
    summary: 'Get Prometheus Metrics',
    description: 'The same of all apps of the team.',
    path: 'prometheus',
    input: ScrapeTeamInput,
    ...MEDIA_TYPES,
  })
  scrapeTeam(
    @CurrentAccount() account: Account,
    @Input() { routes }: ScrapeTeamInput,
    @AcceptedExposition() format: ExpositionFormat,
  ): Promise<FileResponse> {
    return this.service.scrapeTeam(account, routes, format);
  }
}
