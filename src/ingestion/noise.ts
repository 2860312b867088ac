import { pathnameOf } from './path-pattern.js';

/** Paths of static assets and health checks (contract, section 8). */
const PATHS = [
  /\/_?healthz?$/i,
  /\/_?health[_-]?checks?$/i,
  /\/_?heart[_-]?beats?$/i,
  /\/ping$/i,
  /\/ready$/i,
  /\/live$/i,
  /\/favicon(-[\w-]+)?\.(ico|png|svg)$/,
  /\/apple-touch-icon(-[\w-]+)?\.png$/,
  /\/robots\.txt$/,
  /\/sitemap\.xml$/,
  /\/manifest\.json$/,
  /\/site\.webmanifest$/,
  /\/service-worker\.js$/,
  /\/sw\.js$/,
  /\/\.well-known\//,
];

/** User agents of health checks (contract, section 8). */
const USER_AGENTS = [/health[-_ ]?check/i, /microsoft-azure-application-lb/i, /googlehc/i, /kube-probe/i];

/**
 * Whether a request is a static asset or a health check: counted in traffic, never in the request logs
 * (contract, section 8). The rule reads the path pattern; where there is none, the path of the URL.
 */
export function isNoise(path: string | null, url: string, userAgent: string | null): boolean {
  const subject = path ?? pathnameOf(url);
  if (PATHS.some((pattern) => pattern.test(subject))) return true;
  return userAgent !== null && USER_AGENTS.some((pattern) => pattern.test(userAgent));
}
