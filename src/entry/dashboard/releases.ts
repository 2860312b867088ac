import { useMemo } from 'preact/hooks';
import type { Release } from './api.js';
import { findEnv, useLoad, useSession, withoutScope } from './session.js';
import { type Window, toBounds } from './time.js';

const NEWEST = 20;

/** The newest releases of the filtered environment that began in the window. */
export function useReleases(window: Window, limit: number): readonly Release[] {
  return useReleasesOf({ ...toBounds(window), limit });
}

/** The newest releases of the filtered environment, whatever the window. */
export function useNewestReleases(): readonly Release[] {
  return useReleasesOf({ limit: NEWEST });
}

function useReleasesOf(query: { start?: string; end?: string; limit: number }): readonly Release[] {
  const { api, app, state } = useSession();
  const env = findEnv({ app, state });
  const asked = { ...query, ...(env && { app_env_id: env.id }) };
  const { value } = useLoad(
    `releases ${app.id} ${JSON.stringify(asked)}`,
    () => api.releases(app.id, asked).catch(withoutScope),
    `releases ${app.id}`,
  );
  return useMemo(() => value?.data.data ?? [], [value]);
}
