/** A version of an environment begins or ends to run. */
export interface RunChange {
  app_env_id: number;
  app_version: string;
  /** Milliseconds since the epoch. */
  at: number;
  change: 1 | -1;
}

/** From when on an environment ran one version alone; null: several, or none yet. */
export interface VersionSpan {
  readonly envId: number;
  readonly from: number;
  readonly version: string | null;
}

/**
 * Which version each environment ran. After the last report of all versions, the one that began last
 * continues: requests come until a process ends, and its last report is up to a minute earlier.
 *
 * @param changes by environment and time, beginnings before ends
 */
export function buildTimeline(changes: readonly RunChange[]): VersionSpan[] {
  const spans: VersionSpan[] = [];
  const running = new Set<string>();
  let newest = '';
  for (const [index, { app_env_id, app_version, at, change }] of changes.entries()) {
    if (changes[index - 1]?.app_env_id !== app_env_id) running.clear();
    if (change === 1) {
      running.add(app_version);
      newest = app_version;
    } else running.delete(app_version);
    const next = changes[index + 1];
    if (next?.app_env_id === app_env_id && next.at === at) continue;
    const [only = newest, another] = running;
    const version = another === undefined ? only : null;
    const last = spans.at(-1);
    if (last?.envId !== app_env_id || last.version !== version)
      spans.push({ envId: app_env_id, from: at, version });
  }
  return spans;
}

/** The versions of the buckets in a window, as arrays for a statement. */
export interface PlacedVersions {
  /** Of each environment and time from which on another version ran: the ID and the second, in one number. */
  readonly starts: readonly bigint[];
  /** The index of the version that ran from each start on. */
  readonly indexes: readonly number[];
  /** The first one stands for no version. */
  readonly names: readonly string[];
  /** The seconds at which the version of any environment changes. */
  readonly cuts: readonly number[];
}

/**
 * A bucket has a version if its environment ran this version alone during all of it.
 *
 * @param from start of the window, like all times here in seconds since the epoch
 * @param step width of the finest buckets
 */
export function placeVersions(
  timeline: readonly VersionSpan[],
  { from, to }: { from: number; to: number },
  step: number,
): PlacedVersions {
  const names = [''];
  const indexOf = new Map<string, number>();
  const findIndex = (version: string) => {
    const index = indexOf.get(version) ?? names.push(version) - 1;
    indexOf.set(version, index);
    return index;
  };
  // Times before the first environment's first version are smaller than any other start.
  const starts = [0n];
  const indexes = [0];
  const cuts = new Set<number>();
  const add = (envId: number, at: number, index: number) => {
    const start = BigInt(envId) * 2n ** 32n + BigInt(at);
    // The end of the version before is the start of this one.
    if (starts.at(-1) === start) indexes.pop();
    else starts.push(start);
    indexes.push(index);
    if (at > from && at < to) cuts.add(at);
  };
  const seconds = step * 1000;
  for (const [position, { envId, from: began, version }] of timeline.entries()) {
    const next = timeline[position + 1];
    const ended = next?.envId === envId ? Math.floor(next.from / seconds) * step : to;
    const whole = Math.ceil(began / seconds) * step;
    const [start, end] = [Math.max(whole, from), Math.min(ended, to)];
    if (timeline[position - 1]?.envId !== envId) add(envId, 0, 0);
    if (version === null || start >= end) continue;
    add(envId, start, findIndex(version));
    add(envId, end, 0);
  }
  return { starts, indexes, names, cuts: [...cuts].sort((a, b) => a - b) };
}
