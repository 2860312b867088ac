import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import type { Account } from '../auth/account.js';
import type { EndpointList } from './endpoints.dto.js';
import type { ListEndpointsInput } from './endpoints.input.js';
import { EndpointsRepository } from './endpoints.repository.js';

@Injectable()
export class EndpointsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: EndpointsRepository,
  ) {}

  async list(account: Account, input: ListEndpointsInput): Promise<EndpointList> {
    const scope = await this.apps.require(account, input.app_id);
    return { data: await this.repository.list(scope, input) };
  }
}
