import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import type { FileResponse } from '../../platform/http/file-response.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { EndpointList } from './endpoints.dto.js';
import { ListEndpointsInput } from './endpoints.input.js';
import { EndpointsService } from './endpoints.service.js';

@Controller('v1/apps/:app_id/endpoints')
export class EndpointsController {
  constructor(private readonly service: EndpointsService) {}

  @ReadOperation({
    id: 'listEndpoints',
    tag: 'Endpoints',
    summary: 'List Endpoints',
    description:
      'Lists the API endpoints of one app, by path and then method, without pagination. With `include=inventory`, ' +
      'compares what was called with the OpenAPI documents of the app.',
    input: ListEndpointsInput,
    response: EndpointList,
  })
  list(
    @CurrentAccount() account: Account,
    @Input() input: ListEndpointsInput,
  ): Promise<EndpointList | FileResponse> {
    return this.service.list(account, input);
  }
}
