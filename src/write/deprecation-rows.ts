import { type Deprecation, findDeprecation } from '../records/deprecation.js';
import type { WithIds } from '../records/names/name-registry.js';
import type { RequestRecord } from '../records/request-record.js';

/** One row of `endpoint_deprecations_v1`; times in seconds since the epoch. */
export interface DeprecationRow extends Deprecation {
  app_id: number;
  app_env_id: number;
  endpoint_id: number;
  seen_at: number;
}

/** What logged requests say of the end of their endpoints: a row for each endpoint, of its newest request. */
export function findDeprecationRows(
  app_id: number,
  requests: readonly WithIds<RequestRecord>[],
): DeprecationRow[] {
  const rows = new Map<string, DeprecationRow>();
  for (const { record, ids } of requests) {
    const { app_env_id, endpoint_id } = ids;
    const said = endpoint_id === 0 ? undefined : findDeprecation(record.captured_json, record.timestamp);
    if (!said) continue;
    const key = `${app_env_id} ${endpoint_id}`;
    const seen_at = Math.floor(record.timestamp / 1000);
    if (seen_at >= (rows.get(key)?.seen_at ?? 0))
      rows.set(key, { app_id, app_env_id, endpoint_id, seen_at, ...said });
  }
  return [...rows.values()];
}
