import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import type { FileResponse } from '../../platform/http/file-response.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { AppList } from './apps.dto.js';
import { AppsService } from './apps.service.js';

@Controller('v1/apps')
export class AppsController {
  constructor(private readonly service: AppsService) {}

  @ReadOperation({
    id: 'listApps',
    tag: 'Apps',
    summary: 'List Apps',
    description: "Lists the team's apps with their environments, by ID, without pagination.",
    response: AppList,
  })
  list(@CurrentAccount() account: Account): Promise<AppList | FileResponse> {
    return this.service.list(account);
  }
}
