import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import type { Account } from '../../platform/http/account.js';
import type { JsonResponse } from '../../platform/http/json-response.js';
import { Input } from '../../platform/input/input.decorator.js';
import { ReleasePage } from './releases.dto.js';
import { ListReleasesInput } from './releases.input.js';
import { ReleasesService } from './releases.service.js';

@Controller('v1/apps/:app_id/releases')
export class ReleasesController {
  constructor(private readonly service: ReleasesService) {}

  @ReadOperation({
    id: 'listReleases',
    tag: 'Releases',
    summary: 'List Releases',
    description:
      'Lists the versions of one app that began in a window, in pages, newest first: each environment and version ' +
      'with its first and last report, from the processes that report their version and from releases that were marked.',
    input: ListReleasesInput,
    response: ReleasePage,
    headers: ['Link'],
  })
  list(@CurrentAccount() account: Account, @Input() input: ListReleasesInput): Promise<JsonResponse> {
    return this.service.list(account, input);
  }
}
