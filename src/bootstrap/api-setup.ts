import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { abortSignal } from '../http/abort-signal.middleware.js';
import { serveDashboard } from '../http/dashboard.js';
import { serveDocs } from '../openapi/docs.js';
import type { Drain } from './drain.js';
import { setUpHttp } from './http-setup.js';

/** The global setup of the application, shared by `main` and the tests. */
export function setUp(app: NestExpressApplication, config: Config, logger: Logger): Drain {
  const drain = setUpHttp(app, config, logger);
  app.use(abortSignal(config.clickhouse.queryTimeoutSeconds));
  // Before the docs, whose `/` redirects to their page.
  if (config.dashboard) serveDashboard(app, config, logger);
  if (config.docs) serveDocs(app);
  return drain;
}
