import { Injectable } from '@nestjs/common';
import { AppsService } from '../../apps/apps.service.js';
import { logsRetainedFrom } from '../../../config/retention.js';
import type { Account } from '../../../platform/http/account.js';
import { JsonResponse } from '../../../platform/http/json-response.js';
import { endsInPast, resolveCursorWindow } from '../../../platform/paging/page-cursor.js';
import type { FacetList } from './facets.dto.js';
import type { GetFacetsInput } from './facets.input.js';
import { FacetsRepository } from './facets.repository.js';

@Injectable()
export class FacetsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: FacetsRepository,
  ) {}

  async count(account: Account, input: GetFacetsInput): Promise<JsonResponse> {
    const { app_id, field, limit, consumer_id, cursor } = input;
    const scope = await this.apps.require(account, app_id, { consumer_id });
    const window = resolveCursorWindow(input, logsRetainedFrom(cursor.now));
    const rows = await this.repository.count(scope, field, input, window, limit);
    const data = rows.map(({ all_values, all_requests, ...facet }) => facet);
    const [{ all_values, all_requests } = { all_values: 0, all_requests: 0 }] = rows;
    const shown = data.reduce((sum, { requests }) => sum + requests, 0);
    const others = { values: all_values - data.length, requests: all_requests - shown };
    return new JsonResponse(JSON.stringify({ data, others } satisfies FacetList), endsInPast(cursor));
  }
}
