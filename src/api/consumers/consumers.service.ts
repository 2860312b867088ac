import { Injectable } from '@nestjs/common';
import { type AppScope, AppsService } from '../apps/apps.service.js';
import type { Account } from '../../platform/http/account.js';
import { JsonResponse } from '../../platform/http/json-response.js';
import { PageTokens } from '../../platform/paging/page-tokens.js';
import { trafficRetainedFrom } from '../../config/retention.js';
import { framePage } from '../../platform/paging/page.dto.js';
import type { Consumer } from './consumers.dto.js';
import type { ListConsumersInput } from './consumers.input.js';
import { ConsumersRepository, type MovedConsumer } from './consumers.repository.js';
import type { Window } from '../../shared/time/window.js';
import type { MetricFilter } from '../app-metrics/app-metrics.input.js';

const QUARTER_MS = 900_000;
/** Consumers with a request in this time are not quiet. */
const ACTIVE_MS = 30 * 86_400_000;

/** Consumers with the same state. */
export interface MovedConsumers {
  readonly consumers: number;
  readonly names: readonly string[];
}

@Injectable()
export class ConsumersService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: ConsumersRepository,
    private readonly tokens: PageTokens,
  ) {}

  async list(account: Account, input: ListConsumersInput): Promise<JsonResponse> {
    const { limit, requestsSince, include, fingerprint, cursor } = input;
    const scope = await this.apps.require(account, input.app_id);
    const before = cursor && Number(cursor.after[0]);
    const rows = await this.repository.page(scope, { requestsSince, before, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const data = include === 'activity' ? await this.addActivity(scope, page) : page;
    const last = data.at(-1);
    const token =
      rows.length > limit && last
        ? await this.tokens.signNext(fingerprint, scope, { after: [last.id] })
        : undefined;
    const records = data.map((consumer) => JSON.stringify(consumer));
    return new JsonResponse(framePage(records, token), false, token);
  }

  /**
   * How many consumers made their first request in a window, and how many made requests in the baseline
   * before it alone; the names of those with the most requests.
   */
  async findMoved(
    account: Account,
    appId: number,
    windows: { window: Window; baseline: Window },
    filters: readonly MetricFilter[],
    limit: number,
  ): Promise<Record<MovedConsumer['state'], MovedConsumers>> {
    const scope = await this.apps.require(account, appId);
    const options = { retainedFrom: trafficRetainedFrom(Date.now()), limit };
    const moved = await this.repository.findMoved(scope, windows, filters, options);
    const named = await this.repository.find(
      scope,
      moved.map(({ consumer_id }) => consumer_id),
    );
    const names = new Map(named.map(({ id, name }) => [id, name]));
    const select = (state: MovedConsumer['state']) => {
      const rows = moved.filter((row) => row.state === state);
      return {
        consumers: rows[0]?.consumers ?? 0,
        names: rows.map(({ consumer_id }) => names.get(consumer_id) ?? String(consumer_id)),
      };
    };
    return { new: select('new'), quiet: select('quiet') };
  }

  private async addActivity(scope: AppScope, consumers: readonly Consumer[]): Promise<Consumer[]> {
    const now = Date.now();
    const since = Math.floor((now - ACTIVE_MS) / QUARTER_MS) * (QUARTER_MS / 1000);
    const window = { since, retained_from: Math.ceil(trafficRetainedFrom(now) / 1000) };
    const ids = consumers.map(({ id }) => id);
    const counted = await this.repository.countRequests(scope, ids, window);
    const byId = new Map(counted.map((row) => [row.consumer_id, row]));
    return consumers.map((consumer) => {
      const { state = 'quiet', first_request_at = null, requests = 0 } = byId.get(consumer.id) ?? {};
      return Object.assign(consumer, { activity: { state, first_request_at, requests } });
    });
  }
}
