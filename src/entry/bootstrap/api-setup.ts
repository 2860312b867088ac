import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.js';
import { abortSignal } from '../../platform/http/abort-signal.middleware.js';
import { RefusedSenders } from '../../access/tokens/refused-senders.js';
import { allowOrigins } from './cors.js';
import { serveDashboard } from './dashboard.js';
import { serveDocs } from '../../platform/openapi/docs.js';
import type { Drain } from './drain.js';
import { setUpHttp } from './http-setup.js';
import { refuseSenders } from './misdirected.middleware.js';

/**
 * Routes outside `PUBLIC_PATH`: orchestrators probe the process directly instead of through a proxy, and the
 * catch-all route (its path, escaped) responds to all other addresses.
 */
const AT_ROOT = ['health/{*path}', '\\{\\*path\\}'];

/** The global setup of the application, shared by `main` and the tests. */
export function setUp(
  app: NestExpressApplication,
  config: Config,
  logger: Logger,
  hasCollector = false,
): Drain {
  const drain = setUpHttp(app, config, logger, config);
  if (config.corsOrigins.length > 0) allowOrigins(app, config.corsOrigins);
  app.use(refuseSenders(config, app.get(RefusedSenders)), abortSignal(config.clickhouse.queryTimeoutSeconds));
  app.setGlobalPrefix(config.publicPath, { exclude: AT_ROOT });
  // Before the docs, whose `/` redirects to their page.
  if (config.dashboard) serveDashboard(app, config, logger, hasCollector);
  if (config.docs) serveDocs(app, config);
  return drain;
}
