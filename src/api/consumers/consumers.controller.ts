import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import type { JsonResponse } from '../../platform/http/json-response.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { ConsumerPage } from './consumers.dto.js';
import { ListConsumersInput } from './consumers.input.js';
import { ConsumersService } from './consumers.service.js';

@Controller('v1/apps/:app_id/consumers')
export class ConsumersController {
  constructor(private readonly service: ConsumersService) {}

  @ReadOperation({
    id: 'listConsumers',
    tag: 'Consumers',
    summary: 'List Consumers',
    description: 'Lists the consumers of one app in pages, by ID, descending.',
    input: ListConsumersInput,
    response: ConsumerPage,
    headers: ['Link'],
  })
  list(@CurrentAccount() account: Account, @Input() input: ListConsumersInput): Promise<JsonResponse> {
    return this.service.list(account, input);
  }
}
