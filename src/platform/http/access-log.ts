import type { NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import { RequestContext } from '../../telemetry/request-context.js';
import type { Telemetry } from '../../telemetry/telemetry.js';

/** The route of requests that match no route. Their paths would be an unbounded number of labels. */
const UNMATCHED = 'unmatched';
const CATCH_ALL = '{*path}';

/**
 * Runs each request in a context and logs one line for it: route, app, key, status, duration, rows and bytes
 * read. Never headers, query or body, so keys and data stay out. If the client disconnects before the
 * response, the status is `client_closed`. Reports the same to the metrics and the traces if they are
 * configured.
 *
 * Not pino-http: it makes two child loggers per request for fields that this line does not have.
 */
export function accessLog(logger: Logger, { metrics, tracing }: Telemetry) {
  return (request: Request, response: Response, next: NextFunction) => {
    const startedAt = performance.now();
    const span = tracing?.request(request.method, request.headers);
    const requestId = String(response.getHeader('X-Request-Id'));
    const context = new RequestContext(undefined, span?.active, requestId);
    response.once('close', () => {
      const durationMs = performance.now() - startedAt;
      const isClientClosed = !response.writableFinished;
      const { statusCode: status } = response;
      const route = getRoute(request);
      const { stats, logFields } = context;
      const teamId = request.account?.teamId;
      const isError = status >= 500;
      const fields = {
        request_id: requestId,
        method: request.method,
        route,
        status,
        duration_ms: Math.round(durationMs * 10) / 10,
        rows_read: stats.rows,
        bytes_read: stats.bytes,
        team_id: teamId,
        key: request.account?.keyIdentifier,
        ...logFields,
        ...(isClientClosed && { client_closed: true }),
        ...(span && { trace_id: span.traceId }),
      };
      logger[isError ? 'error' : 'info'](fields, 'request');
      metrics?.observeRequest(
        request.method,
        route,
        isClientClosed ? 'client_closed' : status,
        durationMs / 1000,
      );
      // Only a request to the read API has an account.
      if (logFields.app_id !== undefined)
        metrics?.countApp(logFields.app_id, request.account ? 'api' : 'collector');
      span?.end(
        `${request.method} ${route}`,
        {
          'http.route': route,
          ...(isClientClosed ? { 'error.type': 'client_closed' } : { 'http.response.status_code': status }),
          ...(isError && { 'error.type': String(status) }),
          'request_analytics.request_id': requestId,
          'request_analytics.rows_read': stats.rows,
          'request_analytics.bytes_read': stats.bytes,
          ...(teamId !== undefined && { 'request_analytics.team_id': teamId }),
        },
        isError,
      );
    });
    context.run(next);
  };
}

/** The route's pattern, never the path. */
function getRoute({ route }: Request): string {
  const { path } = (route ?? {}) as { path?: unknown };
  return typeof path === 'string' && !path.endsWith(CATCH_ALL) ? path : UNMATCHED;
}
