import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import type { JsonResponse } from '../../platform/http/json-response.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { InstancePage } from './instances.dto.js';
import { ListInstancesInput } from './instances.input.js';
import { InstancesService } from './instances.service.js';

@Controller('v1/apps/:app_id/instances')
export class InstancesController {
  constructor(private readonly service: InstancesService) {}

  @ReadOperation({
    id: 'listInstances',
    tag: 'Instances',
    summary: 'List Instances',
    description:
      'Lists the processes of one app that reported in a window, in pages, by their first report, newest first: ' +
      'version, framework and packages, whether they still report, processor time and memory.',
    input: ListInstancesInput,
    response: InstancePage,
    headers: ['Link'],
  })
  list(@CurrentAccount() account: Account, @Input() input: ListInstancesInput): Promise<JsonResponse> {
    return this.service.list(account, input);
  }
}
