import { extractPathname, inferPathPattern, isStaticFilePattern } from './path-pattern.js';

/** Paths of health checks (docs/contract.md#assets-and-health-checks). */
const CHECKS = joinPatterns(
  /\/_?healthz?$/i,
  /\/_?health[_-]?checks?$/i,
  /\/_?heart[_-]?beats?$/i,
  /\/ping$/i,
  /\/ready$/i,
  /\/live$/i,
);

/** Paths of static assets (docs/contract.md#assets-and-health-checks). */
const ASSETS = joinPatterns(
  /\/favicon(-[\w-]+)?\.(ico|png|svg)$/,
  /\/apple-touch-icon(-[\w-]+)?\.png$/,
  /\/robots\.txt$/,
  /\/sitemap\.xml$/,
  /\/manifest\.json$/,
  /\/site\.webmanifest$/,
  /\/service-worker\.js$/,
  /\/sw\.js$/,
  /\/\.well-known\//,
);

/** User agents of health checks (docs/contract.md#assets-and-health-checks). */
const USER_AGENTS = joinPatterns(
  /health[-_ ]?check/i,
  /microsoft-azure-application-lb/i,
  /googlehc/i,
  /kube-probe/i,
);

/**
 * Whether a request is a static asset or a health check: counted in traffic, never in the request logs
 * (docs/contract.md#assets-and-health-checks). The rule uses the path pattern; without a pattern, the path of
 * the URL.
 *
 * @param isInferred whether the pattern was inferred from the URL, because no application reported the route
 */
export function isStaticAssetOrHealthCheck(
  path: string | null,
  url: string,
  userAgent: string | null,
  isInferred = false,
): boolean {
  const subject = path ?? extractPathname(url);
  if (CHECKS.test(subject) || ASSETS.test(subject) || (isInferred && isStaticFilePattern(subject)))
    return true;
  return userAgent !== null && USER_AGENTS.test(userAgent);
}

/** Whether a request that is excluded from the logs is a static asset; otherwise it is a health check. */
export function isStaticAsset(url: string): boolean {
  return ASSETS.test(extractPathname(url)) || isStaticFilePattern(inferPathPattern(url));
}

/**
 * Joins patterns with the same flags: the joined one takes a third of the time of fifteen patterns for each
 * request.
 */
function joinPatterns(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), patterns[0]?.flags);
}
