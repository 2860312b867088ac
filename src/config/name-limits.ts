/** Limits on the names of an app; requests beyond are counted under the name `*`. */
export interface NameLimits {
  endpoints: number;
  consumers: number;
  consumerGroups: number;
  environments: number;
}

/** Far above normal use: only apps with user IDs in paths or random environments reach them. */
export const DEFAULT_LIMITS: NameLimits = {
  endpoints: 10_000,
  consumers: 100_000,
  consumerGroups: 1_000,
  environments: 100,
};
