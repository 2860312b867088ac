import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AppRows } from './app-rows.js';
import type { NameLimits } from '../../config/name-limits.js';

/** Not a valid name of an endpoint or environment in any framework or client library. */
export const OVERFLOW_NAME = '*';

const LIMITS = `
SELECT app_id, kind, max_names FROM app_limits_v1 FINAL
WHERE app_id IN {app_ids:Array(UInt32)} AND max_names > 0`;

/** The limits of each app: from `app set-limits`, otherwise from the configuration. */
export class NameLimitsLookup {
  private readonly limits: AppRows<{ app_id: number; kind: string; max_names: number }>;

  constructor(
    store: ClickHouse,
    private readonly defaults: NameLimits,
  ) {
    this.limits = new AppRows(store, 'app_limits.of_apps', LIMITS);
  }

  async find(appId: number): Promise<NameLimits> {
    const rows = await this.limits.find(appId);
    const appLimits = new Map(rows.map(({ kind, max_names }) => [kind, max_names]));
    return {
      endpoints: appLimits.get('endpoints') ?? this.defaults.endpoints,
      consumers: appLimits.get('consumers') ?? this.defaults.consumers,
      consumerGroups: appLimits.get('consumer_groups') ?? this.defaults.consumerGroups,
      environments: appLimits.get('environments') ?? this.defaults.environments,
    };
  }
}
