import { useMemo } from 'preact/hooks';
import type { Release } from './api.js';
import { useLoad, useSession, withoutScope } from './session.js';
import { type Window, toIso } from './time.js';

const NEWEST = 20;

/** The newest releases of the filtered environment that began in the window. */
export function useReleases({ from, to, isLive }: Window, limit: number): readonly Release[] {
  return useReleasesOf({ start: toIso(from), ...(!isLive && { end: toIso(to) }), limit });
}

/** The newest releases of the filtered environment, whatever the window. */
export function useNewestReleases(): readonly Release[] {
  return useReleasesOf({ limit: NEWEST });
}

function useReleasesOf(query: { start?: string; end?: string; limit: number }): readonly Release[] {
  const { api, app, state } = useSession();
  const env = app.envs.find(({ name }) => name === state.env);
  const asked = { ...query, ...(env && { app_env_id: env.id }) };
  const { value } = useLoad(
    `releases ${app.id} ${JSON.stringify(asked)}`,
    () => api.releases(app.id, asked).catch(withoutScope),
    `releases ${app.id}`,
  );
  return useMemo(() => value?.data.data ?? [], [value]);
}
