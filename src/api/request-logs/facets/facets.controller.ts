import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../../access/keys/account.decorator.js';
import type { Account } from '../../../platform/http/account.js';
import type { JsonResponse } from '../../../platform/http/json-response.js';
import { ReadOperation } from '../../../access/operations/operation.decorators.js';
import { Input } from '../../../platform/input/input.decorator.js';
import { FacetList } from './facets.dto.js';
import { GetFacetsInput } from './facets.input.js';
import { FacetsService } from './facets.service.js';

@Controller('v1/apps/:app_id/request-logs/facets')
export class FacetsController {
  constructor(private readonly service: FacetsService) {}

  @ReadOperation({
    id: 'getRequestLogFacets',
    tag: 'Request logs',
    summary: 'Get Request Log Facets',
    description:
      'Counts the values of a field among the request logs of one app, under the same filters as Get Request Logs: ' +
      'the most frequent values, and how many others there are.',
    input: GetFacetsInput,
    response: FacetList,
    headers: ['ETag'],
  })
  count(@CurrentAccount() account: Account, @Input() input: GetFacetsInput): Promise<JsonResponse> {
    return this.service.count(account, input);
  }
}
