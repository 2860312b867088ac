import { NIL_UUID } from '../../src/shared/nil-uuid.js';
import type { TestApp } from './app.js';

/** Reports of processes, as the collector writes them. */
export function writeReports(
  { store }: TestApp,
  reports: readonly ({ app_id: number; app_env_id: number; at: number } & Record<string, unknown>)[],
): Promise<unknown> {
  return store.insert(
    'instance_reports',
    reports.map(({ at, ...members }) =>
      JSON.stringify({
        timestamp: at,
        instance_uuid: NIL_UUID,
        last_sync_at: 0,
        cpu_percent: -1,
        memory_rss: -1,
        client: '',
        versions: {},
        app_version: '',
        framework: '',
        ...members,
      }),
    ),
  );
}
