import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { Drain } from './common/http/drain.js';
import { patience } from './common/http/patience.middleware.js';
import { setUpHttp } from './common/http/set-up-http.js';
import { serveDocs } from './common/openapi/docs.js';
import type { Config } from './config/config.js';

/** Everything global, in one place, so that tests run the application just as `main` does. */
export function setUp(app: NestExpressApplication, config: Config, logger: Logger): Drain {
  const drain = setUpHttp(app, config, logger);
  app.use(patience(config.clickhouse.queryTimeoutSeconds));
  if (config.docs) serveDocs(app);
  return drain;
}
