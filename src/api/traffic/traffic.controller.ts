import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import type { JsonResponse } from '../../platform/http/json-response.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { TrafficPage } from './traffic.dto.js';
import { GetTrafficInput } from './traffic.input.js';
import { TrafficService } from './traffic.service.js';

@Controller('v1/apps/:app_id/traffic')
export class TrafficController {
  constructor(private readonly service: TrafficService) {}

  @ReadOperation({
    id: 'getTraffic',
    tag: 'Traffic',
    summary: 'Get Traffic',
    description:
      'Returns aggregated traffic of one app in pages, per hour or per day of a timezone, oldest period first. ' +
      'Excluded endpoints and periods without requests are left out.',
    input: GetTrafficInput,
    response: TrafficPage,
    headers: ['Link', 'ETag', 'X-Consumer-Coverage'],
  })
  list(@CurrentAccount() account: Account, @Input() input: GetTrafficInput): Promise<JsonResponse> {
    return this.service.list(account, input);
  }
}
