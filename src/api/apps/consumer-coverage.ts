import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { CachedLookup } from '../../shared/cached-lookup.js';
import { DAY_SECONDS } from '../../shared/time/units.js';
import { AppScopedStore } from './app-scoped-store.js';
import type { AppScope } from './apps.service.js';

const TABLE = 'consumer_coverage_v1';
/** Days are counted since the epoch, as the engine converts integers. */
const COVERAGE = `
SELECT sum(i.measured) AS measured, sum(least(i.seen, i.measured)) AS seen
FROM (
  SELECT sum(c.measured) AS measured, sum(c.seen) AS seen
  FROM ${TABLE} AS c
  WHERE c.app_id = {app_id:UInt32} AND c.day >= toDate({day:UInt16}) AND c.day <= toDate({last_day:UInt16})
  GROUP BY c.instance_uuid
) AS i`;

/** Which part of the requests of metrics had spans that arrived (docs/contract.md#consumer-coverage). */
@Injectable()
export class ConsumerCoverage {
  /** Keyed by app, days and version of the table. */
  private readonly found: CachedLookup<number>;

  constructor(
    private readonly store: AppScopedStore,
    { cacheTtlMs }: Config,
  ) {
    this.found = new CachedLookup(cacheTtlMs);
  }

  /**
   * The header of a response with numbers by consumer; none if they are exact.
   *
   * @param bounds of periods, in seconds since the epoch
   */
  async describe(scope: AppScope, bounds: readonly number[]): Promise<{ 'X-Consumer-Coverage'?: string }> {
    const [from, to] = [bounds[0], bounds.at(-1)];
    if (from === undefined || to === undefined || from >= to) return {};
    const [day, last_day] = [from, to - 1].map((time) => Math.floor(time / DAY_SECONDS)) as [number, number];
    const read = async () => {
      const options = { prewhere: false, shared: true };
      const params = { day, last_day };
      const [row] = await this.store.rows<{ measured: number; seen: number }>(
        scope,
        'consumers.coverage',
        COVERAGE,
        params,
        options,
      );
      return row && row.measured > 0 ? row.seen / row.measured : 1;
    };
    // A new row changes the version, so a cached result is never outdated.
    const version = this.store.getVersion(TABLE);
    const key = [scope.appId, day, last_day, version].join('/');
    const coverage = await (version === undefined ? read() : this.found.find(key, read));
    return coverage < 1 ? { 'X-Consumer-Coverage': String(Math.floor(coverage * 1000) / 1000) } : {};
  }
}
