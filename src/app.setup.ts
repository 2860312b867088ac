import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { Drain } from './common/http/drain.js';
import { ApiExceptionFilter } from './common/http/exception.filter.js';
import { keepPathDecodable } from './common/http/raw-query.js';
import { requestId } from './common/http/request-id.middleware.js';
import { requireHost } from './common/http/require-host.middleware.js';
import { requestLog } from './common/logging/request-log.js';
import { serveDocs } from './common/openapi/openapi.js';
import type { Config } from './config/config.js';

/** Everything global, in one place, so that tests run the application just as `main` does. */
export function setUp(app: NestExpressApplication, config: Config, logger: Logger): Drain {
  const drain = new Drain();
  app.set('trust proxy', config.trustProxy);
  // Pages differ with each request that arrives: a tag would cost a hash over the body and never match.
  app.set('etag', false);
  // Values are read from the URL by the input decorator; the framework's parser would guess at types.
  app.set('query parser', false);
  app.disable('x-powered-by');
  app.use(drain.middleware, keepPathDecodable, requestId, requestLog(logger), requireHost);
  app.useGlobalFilters(new ApiExceptionFilter());
  app.use('/docs', helmet());
  serveDocs(app);
  return drain;
}
