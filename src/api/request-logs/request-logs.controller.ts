import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import type { JsonResponse } from '../../platform/http/json-response.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { RequestDetails } from './request-details.dto.js';
import { RequestLogPage } from './request-logs.dto.js';
import { GetRequestDetailsInput, ListRequestLogsInput } from './request-logs.input.js';
import { RequestLogsService } from './request-logs.service.js';

@Controller('v1/apps/:app_id/request-logs')
export class RequestLogsController {
  constructor(private readonly service: RequestLogsService) {}

  @ReadOperation({
    id: 'getRequestLogs',
    tag: 'Request logs',
    summary: 'Get Request Logs',
    description:
      'Lists request log records of one app in pages, newest first. Excluded endpoints, static assets and health ' +
      'checks are left out. Filters are combined with AND.',
    input: ListRequestLogsInput,
    response: RequestLogPage,
    headers: ['Link', 'ETag'],
  })
  list(@CurrentAccount() account: Account, @Input() input: ListRequestLogsInput): Promise<JsonResponse> {
    return this.service.list(account, input);
  }

  @ReadOperation({
    id: 'getRequestDetails',
    tag: 'Request logs',
    summary: 'Get Request Details',
    description: 'Returns one request with all captured data.',
    path: ':request_uuid',
    input: GetRequestDetailsInput,
    response: RequestDetails,
    headers: ['ETag', 'X-Logs-Left-Out'],
  })
  get(@CurrentAccount() account: Account, @Input() input: GetRequestDetailsInput): Promise<JsonResponse> {
    return this.service.get(account, input);
  }
}
