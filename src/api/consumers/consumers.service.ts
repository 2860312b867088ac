import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import type { Account } from '../../platform/http/account.js';
import { JsonResponse } from '../../platform/http/json-response.js';
import { PageTokens } from '../../platform/paging/page-tokens.js';
import { framePage } from '../../platform/paging/page.dto.js';
import type { ListConsumersInput } from './consumers.input.js';
import { ConsumersRepository } from './consumers.repository.js';

@Injectable()
export class ConsumersService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: ConsumersRepository,
    private readonly tokens: PageTokens,
  ) {}

  async list(account: Account, input: ListConsumersInput): Promise<JsonResponse> {
    const { limit, requestsSince, fingerprint, cursor } = input;
    const scope = await this.apps.require(account, input.app_id);
    const before = cursor && Number(cursor.after[0]);
    const rows = await this.repository.page(scope, { requestsSince, before, limit: limit + 1 });
    const data = rows.slice(0, limit);
    const last = data.at(-1);
    const token =
      rows.length > limit && last
        ? await this.tokens.signNext(fingerprint, scope, { after: [last.id] })
        : undefined;
    const records = data.map((consumer) => JSON.stringify(consumer));
    return new JsonResponse(framePage(records, token), false, token);
  }
}
