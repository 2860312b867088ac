import type { IncomingMessage, Server } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import compression from 'compression';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { MEDIA_TYPES } from '../formats/file-format.js';
import { requestLog } from '../logging/request-log.js';
import { Drain } from './drain.js';
import { ApiExceptionFilter } from './exception.filter.js';
import { requireHost } from './host.middleware.js';
import { keepPathDecodable } from './raw-query.js';
import { requestId } from './request-id.middleware.js';

const DROPS_LOGGED_EVERY_MS = 10_000;

/** One warning, at the first request that came through a proxy: the addresses that are counted and logged are the proxy's. */
function warnOfForwarding(logger: Logger) {
  let isTold = false;
  return (request: IncomingMessage, _response: unknown, next: () => void) => {
    const header = ['x-forwarded-for', 'forwarded'].find((name) => name in request.headers);
    if (header !== undefined && !isTold) {
      isTold = true;
      logger.warn(
        { header, from: request.socket.remoteAddress },
        'a proxy forwards requests and TRUST_PROXY is false: its clients share one limit on wrong credentials',
      );
    }
    next();
  };
}

/** Counts the connections that a port with all it may have closes at once, and logs them, at most a line in ten seconds. */
function reportDroppedConnections(server: Server, logger: Logger, { metrics }: Telemetry) {
  let dropped = 0;
  server.on('drop', () => {
    metrics?.countDroppedConnections(1);
    dropped += 1;
    if (dropped > 1) return;
    setTimeout(() => {
      logger.warn(
        { connections: dropped, limit: server.maxConnections },
        'closed connections above the limit',
      );
      dropped = 0;
    }, DROPS_LOGGED_EVERY_MS).unref();
  });
}

/**
 * Compresses answers of 1 KB and more with Brotli or gzip where the client takes it (`Accept-Encoding`), but for Arrow and
 * Parquet, which are compressed already. The package's list of types does not know NDJSON.
 */
const compress = compression({
  threshold: 1024,
  filter: (request, response) =>
    response.getHeader('Content-Type') === MEDIA_TYPES.ndjson || compression.filter(request, response),
});

/** What every application of ours does with HTTP: request IDs, a log line a request, one shape of errors. */
export function setUpHttp(app: NestExpressApplication, config: Config, logger: Logger): Drain {
  const drain = new Drain();
  app.set('trust proxy', config.trustProxy);
  // Pages differ with each request that arrives: a tag would cost a hash over the body and never match.
  app.set('etag', false);
  // Values are read from the URL by the input decorator; the framework's parser would guess at types.
  app.set('query parser', false);
  app.disable('x-powered-by');
  const telemetry = app.get(Telemetry);
  reportDroppedConnections(app.getHttpServer(), logger, telemetry);
  const log = requestLog(logger, telemetry);
  if (config.trustProxy === false) app.use(warnOfForwarding(logger));
  app.use(keepPathDecodable, requestId, log, drain.middleware, requireHost, compress);
  app.useGlobalFilters(new ApiExceptionFilter());
  return drain;
}
