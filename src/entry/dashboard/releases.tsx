import { useMemo } from 'preact/hooks';
import type { Release } from './api.js';
import { Text } from './parts.js';
import { useLoad, useSession, withoutScope } from './session.js';
import { type Window, formatTime, toIso } from './time.js';

/** Of a window, most of them hidden behind others if they are more. */
const IN_WINDOW = 100;
const NEWEST = 20;
/** Named below the chart. */
const NAMED = 8;

/** The releases of the filtered environment that began in the window, oldest first. */
export function useReleases({ from, to, isLive }: Window): readonly Release[] {
  const query = { start: toIso(from), ...(!isLive && { end: toIso(to) }), limit: IN_WINDOW };
  const releases = useReleasesOf(query);
  return useMemo(() => releases?.toReversed() ?? [], [releases]);
}

/** The newest releases of the filtered environment, whatever the window. */
export function useNewestReleases(): readonly Release[] {
  return useReleasesOf({ limit: NEWEST }) ?? [];
}

function useReleasesOf(query: { start?: string; end?: string; limit: number }) {
  const { api, app, state } = useSession();
  const env = app.envs.find(({ name }) => name === state.env);
  const asked = { ...query, ...(env && { app_env_id: env.id }) };
  const { value } = useLoad(
    `releases ${app.id} ${JSON.stringify(asked)}`,
    () => api.releases(app.id, asked).catch(withoutScope),
    `releases ${app.id}`,
  );
  return value?.data.data;
}

export function isWithin({ first_seen }: Release, { start, end }: { start: number; end: number }): boolean {
  const at = Date.parse(first_seen);
  return at >= start && at < end;
}

/** The releases of the chart in words. Its line has its room before they are there, so that nothing moves. */
export function ReleaseList({ releases, window }: { releases: readonly Release[]; window: Window }) {
  const more = releases.length - NAMED;
  return (
    <p class="releases muted">
      {releases.length > 0 && (releases.length === 1 ? 'Release: ' : 'Releases: ')}
      {releases.slice(-NAMED).map(({ version, env, first_seen }, index) => (
        <span key={`${env} ${version}`}>
          {index > 0 && ', '}
          <strong>
            <Text>{version}</Text>
          </strong>{' '}
          (<Text>{env}</Text>) {formatTime(Date.parse(first_seen), 'day', window.zone)},{' '}
          {formatTime(Date.parse(first_seen), 'time', window.zone)}
        </span>
      ))}
      {more > 0 && ` and ${more} before`}
    </p>
  );
}
