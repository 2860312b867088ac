import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { CachedLookup } from '../../shared/cached-lookup.js';
import type { NameLimits } from '../../config/name-limits.js';

/** Not a valid name of an endpoint or environment in any framework or client library. */
export const OVERFLOW_NAME = '*';

/** Changed limits take effect within this time. */
const REMEMBERED_MS = 5_000;
const LIMITS = `
SELECT kind, max_names FROM app_limits_v1 FINAL WHERE app_id = {app_id:UInt32} AND max_names > 0`;

/** The limits of each app: from `app set-limits`, otherwise from the configuration. */
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
    const rows = await this.store.rows<{ kind: string; max_names: number }>('app_limits.find', LIMITS, {
      app_id: appId,
    });
    const appLimits = new Map(rows.map(({ kind, max_names }) => [kind, max_names]));
    return {
      endpoints: appLimits.get('endpoints') ?? this.defaults.endpoints,
      consumers: appLimits.get('consumers') ?? this.defaults.consumers,
      consumerGroups: appLimits.get('consumer_groups') ?? this.defaults.consumerGroups,
      environments: appLimits.get('environments') ?? this.defaults.environments,
    };
  }
}
