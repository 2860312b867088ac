import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { CachedLookup } from '../../shared/cached-lookup.js';

/** Changes of rows take effect within this time. */
export const REMEMBERED_MS = 5_000;

/**
 * Rows of the apps for which this process writes. One query has them for all these apps, because a query for
 * each app takes several milliseconds of processor time. Those of an app that writes for the first time are
 * looked up at once.
 */
export class AppRows<Row extends { app_id: number }> {
  private readonly cache = new CachedLookup<readonly Row[]>(REMEMBERED_MS);
  private readonly appIds = new Set<number>();

  /** @param sql with the placeholder `{app_ids:Array(UInt32)}` */
  constructor(
    private readonly store: ClickHouse,
    private readonly name: string,
    private readonly sql: string,
  ) {}

  async find(appId: number): Promise<Row[]> {
    if (!this.appIds.has(appId)) this.cache.forget('');
    this.appIds.add(appId);
    const rows = await this.cache.find('', () =>
      this.store.rows<Row>(this.name, this.sql, { app_ids: [...this.appIds] }),
    );
    return rows.filter(({ app_id }) => app_id === appId);
  }
}
