/** The app with most of the rows; the others only stand in its way. */
export const HOT_APP = 1;
/** Share of the rows that are the hot app's, in tenths. */
export const HOT_TENTHS = 6;
export const APPS = 5;
/** The app of `--export-rows`. */
export const EXPORT_APP = APPS + 1;
export const ENVS = [
  { name: 'prod', share: 0.85 },
  { name: 'staging', share: 0.1 },
  { name: 'dev', share: 0.05 },
] as const;
export const HOT_ENDPOINTS = 200;
export const COLD_ENDPOINTS = 50;
export const CONSUMERS = 20_000;
export const LOG_DAYS = 15;
/** Requests with a capture of 2 to 8 KB. */
export const CAPTURED = 200_000;
/** Endpoints of the path that is asked for as a rare one: the last five of the hot app. */
export const RARE_ENDPOINTS = 5;
export const RARE_SHARE = 5e-6;
export const RARE_PATH = '/internal/*';
/**
 * Endpoints that get the mark in the cases with excluded ones; of middling rank, a quarter of the traffic.
 */
export const EXCLUDED = Array.from({ length: 20 }, (_, index) => 11 + 2 * index);
/** Rows by consumer in the 12.5 months before the logs, for each row of the logs. */
export const CONSUMER_HISTORY = 2;

export const TEAM_KEY = 'bench01.0123456789abcdefghijklmnopqrstuv';

const MILLIONS = /^(\d+)(k|m)$/;

/** `1m`, `30m`, `250k` as a number; undefined for any other text. */
export function parseRows(text: string): number | undefined {
  const [, digits, unit] = MILLIONS.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (unit === 'm' ? 1_000_000 : 1_000);
}

/**
 * Of two rows, how many share the same consumer falls with the rank: rank 1 is 7 % of the requests, 20,000
 * none.
 */
export function findConsumerByRank(rank: number): number {
  return ((rank * 7919) % CONSUMERS) + 1;
}
