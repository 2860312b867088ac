import type { ClickHouse } from '../../clickhouse/clickhouse.client.js';
import { CachedLookup } from '../../common/cached-lookup.js';
import type { NameLimits } from '../../config/name-limits.js';

/** Not a valid name of an endpoint or environment in any framework or client library. */
export const OVERFLOW_NAME = '*';

/** Changed limits take effect within this time. */
const REMEMBERED_MS = 5_000;
const LIMITS = `
SELECT nullIf(endpoints, 0) AS endpoints, nullIf(consumers, 0) AS consumers,
  nullIf(consumer_groups, 0) AS consumer_groups, nullIf(environments, 0) AS environments
FROM app_limits_v1 FINAL WHERE app_id = {app_id:UInt32}`;

/** The limits of each app: those of `app set-limits`, otherwise the configured ones. */
export class NameLimitsLookup {
  private readonly cache = new CachedLookup<NameLimits>(REMEMBERED_MS);

  constructor(
    private readonly store: ClickHouse,
    private readonly defaults: NameLimits,
  ) {}

  find(appId: number): Promise<NameLimits> {
    return this.cache.find(String(appId), () => this.load(appId));
  }

  private async load(appId: number): Promise<NameLimits> {
    const [own] = await this.store.rows<{
      endpoints: number | null;
      consumers: number | null;
      consumer_groups: number | null;
      environments: number | null;
    }>('app_limits.find', LIMITS, { app_id: appId });
    return {
      endpoints: own?.endpoints ?? this.defaults.endpoints,
      consumers: own?.consumers ?? this.defaults.consumers,
      consumerGroups: own?.consumer_groups ?? this.defaults.consumerGroups,
      environments: own?.environments ?? this.defaults.environments,
    };
  }
}
