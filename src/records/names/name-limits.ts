import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { CachedLookup } from '../../shared/cached-lookup.js';
import type { NameLimits } from '../../config/name-limits.js';

/** Not a valid name of an endpoint or environment in any framework or client library. */
export const OVERFLOW_NAME = '*';

/** Changed limits take effect within this time. */
const REMEMBERED_MS = 5_000;
/** Of all apps, because a query for each app that sends takes several milliseconds of processor time. */
const LIMITS = 'SELECT app_id, kind, max_names FROM app_limits_v1 FINAL WHERE max_names > 0';

/** The limits of each app: from `app set-limits`, otherwise from the configuration. */
export class NameLimitsLookup {
  private readonly cache = new CachedLookup<ReadonlyMap<string, number>>(REMEMBERED_MS);
  private readonly apps = new Set<number>();

  constructor(
    private readonly store: ClickHouse,
    private readonly defaults: NameLimits,
  ) {}

  async find(appId: number): Promise<NameLimits> {
    // The limits of an app may have been set just before its first request.
    if (!this.apps.has(appId)) this.cache.forget('');
    this.apps.add(appId);
    const limits = await this.cache.find('', () => this.load());
    const get = (kind: string) => limits.get(`${appId}/${kind}`);
    return {
      endpoints: get('endpoints') ?? this.defaults.endpoints,
      consumers: get('consumers') ?? this.defaults.consumers,
      consumerGroups: get('consumer_groups') ?? this.defaults.consumerGroups,
      environments: get('environments') ?? this.defaults.environments,
    };
  }

  private async load(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.store.rows<{ app_id: number; kind: string; max_names: number }>(
      'app_limits.all',
      LIMITS,
    );
    return new Map(rows.map(({ app_id, kind, max_names }) => [`${app_id}/${kind}`, max_names]));
  }
}
