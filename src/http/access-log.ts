import type { NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import { getReadStats } from '../clickhouse/read-stats.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { RequestSpan } from '../observability/tracing.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Members of the request's log line that become known while it is served. */
    logFields?: RequestLogFields;
  }
}

/** The data that a request read or wrote; set once the ownership of the app is checked. */
export interface RequestLogFields {
  app_id?: number;
  /** The consumer of a filter. */
  consumer_id?: number | undefined;
  /** The request that was read in full. */
  request_uuid?: string;
}

/** Route of unmatched requests, because clients could send any number of paths. */
const UNMATCHED = 'unmatched';
const CATCH_ALL = '{*path}';

/**
 * One line per request: team, key, route, app, status, duration in milliseconds, and read statistics. No headers, query
 * or bodies, so that the log has no keys and no data. A request whose client disconnected before the response has `client_closed`.
 * Metrics and traces, if enabled, get the same values.
 *
 * Not pino-http: it makes two child loggers a request for fields that this line does not have.
 */
export function accessLog(logger: Logger, { metrics, tracing }: Telemetry) {
  return (request: Request, response: Response, next: NextFunction) => {
    const startedAt = performance.now();
    const logFields: RequestLogFields = (request.logFields = {});
    const span = tracing?.request(request.method, request.headers);
    response.once('close', () => {
      const durationMs = performance.now() - startedAt;
      const isClientClosed = !response.writableFinished;
      const { statusCode: status } = response;
      const route = getRoute(request);
      const stats = getReadStats(request.signal);
      const fields = {
        request_id: response.getHeader('X-Request-Id'),
        method: request.method,
        route,
        status,
        duration_ms: Math.round(durationMs * 10) / 10,
        rows_read: stats.rows,
        bytes_read: stats.bytes,
        team_id: request.account?.teamId,
        key: request.account?.keyIdentifier,
        ...logFields,
        ...(isClientClosed && { client_closed: true }),
        ...(span && { trace_id: span.traceId }),
      };
      logger[status >= 500 ? 'error' : 'info'](fields, 'request');
      metrics?.observeRequest(
        request.method,
        route,
        isClientClosed ? 'client_closed' : status,
        durationMs / 1000,
      );
      // Only a read of the API has an account.
      if (logFields.app_id !== undefined)
        metrics?.countApp(logFields.app_id, request.account ? 'api' : 'collector');
      if (span) endSpan(span, fields);
    });
    if (span) span.run(next);
    else next();
  };
}

/** The route's pattern, never the path. */
function getRoute({ route }: Request): string {
  const { path } = (route ?? {}) as { path?: unknown };
  return typeof path === 'string' && !path.endsWith(CATCH_ALL) ? path : UNMATCHED;
}

interface Ended {
  request_id: unknown;
  method: string;
  route: string;
  status: number;
  rows_read: number;
  bytes_read: number;
  team_id: number | undefined;
  client_closed?: boolean;
}

function endSpan(span: RequestSpan, { request_id, method, route, status, ...ended }: Ended) {
  const isError = status >= 500;
  span.end(
    `${method} ${route}`,
    {
      'http.route': route,
      ...(ended.client_closed ? { 'error.type': 'client_closed' } : { 'http.response.status_code': status }),
      ...(isError && { 'error.type': String(status) }),
      'request_analytics.request_id': String(request_id),
      'request_analytics.rows_read': ended.rows_read,
      'request_analytics.bytes_read': ended.bytes_read,
      ...(ended.team_id !== undefined && { 'request_analytics.team_id': ended.team_id }),
    },
    isError,
  );
}
