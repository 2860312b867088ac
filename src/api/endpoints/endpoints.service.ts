import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import type { Account } from '../../platform/http/account.js';
import type { FileResponse } from '../../platform/http/file-response.js';
import { streamList } from '../../platform/http/streamed-list.js';
import type { EndpointList } from './endpoints.dto.js';
import type { ListEndpointsInput } from './endpoints.input.js';
import { ENDPOINTS_PER_READ, EndpointsRepository } from './endpoints.repository.js';

@Injectable()
export class EndpointsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: EndpointsRepository,
  ) {}

  async list(account: Account, input: ListEndpointsInput): Promise<EndpointList | FileResponse> {
    const scope = await this.apps.require(account, input.app_id);
    return streamList(this.repository.list(scope, input), ENDPOINTS_PER_READ);
  }
}
