import { useMemo } from 'preact/hooks';
import { spanOf } from './alerts-data.js';
import { Text } from './parts.js';
import { useReleases } from './releases.js';
import { useSession } from './session.js';
import { type Window, formatMinute, formatWindow } from './time.js';

/** A release or a firing alert on the time axis. */
export interface Mark {
  kind: 'release' | 'alert';
  name: string;
  /** Null: all. */
  env: string | null;
  from: number;
  /** The same as `from` for what has no length. */
  to: number;
}

/** Of a window, most of them hidden behind others if they are more. */
const IN_WINDOW = 100;
/** Of a kind, named below the chart. */
const NAMED = 8;

/** The releases and firing alerts of the filtered environment in the window, oldest first. */
export function useMarks(window: Window): readonly Mark[] {
  const { state, alerts } = useSession();
  const releases = useReleases(window, IN_WINDOW);
  return useMemo(() => {
    const began = releases.map(({ version, env, first_seen }): Mark => {
      const at = Date.parse(first_seen);
      return { kind: 'release', name: version, env, from: at, to: at };
    });
    const fired = (alerts.value?.data ?? []).flatMap((alert) =>
      alert.history.flatMap(({ state: its }, index): Mark[] => {
        const { name, rule } = alert;
        return its === 'firing'
          ? [{ kind: 'alert', name, env: rule.env ?? null, ...spanOf(alert, index) }]
          : [];
      }),
    );
    return [...began, ...fired]
      .filter((mark) => isWithin(mark, { start: window.from, end: window.to }))
      .filter(({ env }) => env === null || state.env === null || env === state.env)
      .sort((a, b) => a.from - b.from)
      .slice(-IN_WINDOW);
  }, [releases, alerts.value, window, state.env]);
}

export function isWithin({ from, to }: Mark, { start, end }: { start: number; end: number }): boolean {
  return from < end && (to > start || from >= start);
}

export function describeMark({ kind, name, env }: Mark): string {
  return `${kind} ${name}${env === null ? '' : ` in ${env}`}`;
}

const KINDS = [
  ['release', 'Release'],
  ['alert', 'Alert'],
] as const;

/** The marks of the chart in words. Its line has its room before they are there, so that nothing moves. */
export function MarkList({ marks, window: { zone } }: { marks: readonly Mark[]; window: Window }) {
  return (
    <p class="marks muted">
      {KINDS.map(([kind, name]) => {
        const all = marks.filter((mark) => mark.kind === kind);
        const more = all.length - NAMED;
        if (all.length === 0) return null;
        return (
          <span key={kind}>
            {all.length === 1 ? name : `${name}s`}:{' '}
            {all.slice(-NAMED).map(({ name, env, from, to }, index) => (
              <span key={`${from} ${env ?? ''} ${name}`}>
                {index > 0 && ', '}
                <strong>
                  <Text max={100}>{name}</Text>
                </strong>{' '}
                {env !== null && (
                  <>
                    (<Text>{env}</Text>){' '}
                  </>
                )}
                {from === to
                  ? formatMinute(from, zone)
                  : formatWindow({ from, to, interval: 'minute', zone })}
              </span>
            ))}
            {more > 0 && ` and ${more} before`}
          </span>
        );
      })}
    </p>
  );
}
