/** How many names an app may have; requests of more are counted under the name `*`. */
export interface NameLimits {
  endpoints: number;
  consumers: number;
  consumerGroups: number;
  environments: number;
}

/** Far more than a sane app has: a user ID in a path, or a random environment, reaches them. */
export const DEFAULT_LIMITS: NameLimits = {
  endpoints: 10_000,
  consumers: 100_000,
  consumerGroups: 1_000,
  environments: 100,
};
