import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import compression from 'compression';
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import { EXPORT_MEDIA_TYPES } from '../../shared/file-format.js';
import type { Config } from '../../config/config.js';
import { accessLog } from '../../platform/http/access-log.js';
import { ApiExceptionFilter } from '../../platform/http/exception.filter.js';
import type { HttpAdapter } from '../../platform/http/http.adapter.js';
import { requireHost } from '../../platform/http/host.middleware.js';
import { normalizeRequestTarget } from '../../platform/http/raw-query.js';
import { requestId } from '../../platform/http/request-id.middleware.js';
import { COMPRESSED_FROM_BYTES } from '../../platform/http/zstd.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { Drain } from './drain.js';

const DROPS_LOGGED_EVERY_MS = 10_000;

/** Warns at the first request through a proxy, once, that all clients count as the proxy's address. */
function warnOnForwarding(logger: Logger) {
  let hasWarned = false;
  return (request: IncomingMessage, _response: unknown, next: () => void) => {
    const header = ['x-forwarded-for', 'forwarded'].find((name) => name in request.headers);
    if (header !== undefined && !hasWarned) {
      hasWarned = true;
      logger.warn(
        { header, from: request.socket.remoteAddress },
        'a proxy forwards requests and TRUST_PROXY is false: its clients share one limit on invalid credentials',
      );
    }
    next();
  };
}

/**
 * Counts and logs connections that are closed because the port is at its limit; logs at most one line in ten
 * seconds.
 */
export function reportDroppedConnections(server: Server, logger: Logger, { metrics }: Telemetry) {
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

const COMPRESSIBLE: readonly unknown[] = [EXPORT_MEDIA_TYPES.ndjson, EXPORT_MEDIA_TYPES.har];

/**
 * Compresses responses of 1 KB and more with Brotli or gzip if the client accepts it (`Accept-Encoding`).
 * Arrow and Parquet are already compressed, and `startZstd` compresses further responses. The package's list
 * of types lacks NDJSON and HTTP Archives.
 */
const compress = compression({
  threshold: COMPRESSED_FROM_BYTES,
  filter: (request, response) =>
    COMPRESSIBLE.includes(response.getHeader('Content-Type')) || compression.filter(request, response),
});

/** The package does not compress a response to HEAD, so its length would differ from the body of GET. */
function asGet(request: Request): Request {
  return request.method === 'HEAD'
    ? (Object.create(request, { method: { value: 'GET' } }) as Request)
    : request;
}

/**
 * Without `Accept-Encoding` nothing is compressed, and the package's hooks would take a tenth of a short
 * response.
 */
function compressIfAccepted(request: Request, response: Response, next: NextFunction) {
  if (request.headers['accept-encoding'] !== undefined) {
    compress(asGet(request), response, next);
    return;
  }
  response.setHeader('Vary', 'Accept-Encoding');
  next();
}

/**
 * HTTP setup of all applications of the service: request IDs, one log line per request, one format of errors.
 *
 * @param reads set for an application that is read: the path before its `/v1`. Its bodies are compressed; a
 * collector's are short
 */
export function setUpHttp(
  app: NestExpressApplication,
  config: Config,
  logger: Logger,
  reads?: Pick<Config, 'publicPath'>,
): Drain {
  const drain = new Drain();
  app.set('trust proxy', config.trustProxy);
  // Most bodies change with each new request, so their hash would never match. `JsonResponse` sets the other
  // tags.
  app.set('etag', false);
  // The input decorator reads values from the URL; the framework's parser would guess types.
  app.set('query parser', false);
  app.disable('x-powered-by');
  const telemetry = app.get(Telemetry);
  const { readers } = app.getHttpAdapter() as HttpAdapter;
  readers.limit(config.readers, telemetry.metrics);
  reportDroppedConnections(app.getHttpServer(), logger, telemetry);
  const log = accessLog(logger, telemetry);
  if (config.trustProxy === false) app.use(warnOnForwarding(logger));
  app.use(
    normalizeRequestTarget,
    requestId(reads?.publicPath ?? ''),
    log,
    drain.middleware,
    requireHost,
    ...(reads ? [compressIfAccepted] : []),
    readers.holdBodies,
  );
  app.useGlobalFilters(new ApiExceptionFilter());
  return drain;
}
