import type { IncomingHttpHeaders } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import { RequestContext } from '../../telemetry/request-context.js';
import type { Telemetry } from '../../telemetry/telemetry.js';
import type { Account } from './account.js';

/** The route of requests that match no route. Their paths would be an unbounded number of labels. */
const UNMATCHED = 'unmatched';
const CATCH_ALL = '{*path}';

/** How a request ended. */
export interface EndedRequest {
  readonly route: string;
  /** Of HTTP; by gRPC the status that the response would have over HTTP. */
  readonly status: number;
  /** Whether the client disconnected before it had the response. */
  readonly isClientClosed: boolean;
  readonly account?: Account | undefined;
  readonly grpcStatus?: string;
}

/**
 * Begins a request: work for it runs in its context. When it has ended, logs one line for it: route, app,
 * key, status, duration, rows and bytes read. Never headers, query or body, so keys and data stay out.
 * Reports the same to the metrics and the traces if they are configured.
 *
 * Not pino-http: it makes two child loggers per request for fields that this line does not have.
 */
export function beginRequest(
  logger: Logger,
  { metrics, tracing }: Telemetry,
  { method, headers, requestId }: { method: string; headers: IncomingHttpHeaders; requestId: string },
): { context: RequestContext; end: (ended: EndedRequest) => void } {
  const startedAt = performance.now();
  const span = tracing?.request(method, headers);
  const context = new RequestContext(undefined, span?.active, requestId);
  const end = ({ route, status, isClientClosed, account, grpcStatus }: EndedRequest) => {
    const durationMs = performance.now() - startedAt;
    const { stats, logFields } = context;
    const teamId = account?.teamId;
    const isError = status >= 500;
    const fields = {
      request_id: requestId,
      method,
      route,
      status,
      duration_ms: Math.round(durationMs * 10) / 10,
      rows_read: stats.rows,
      bytes_read: stats.bytes,
      team_id: teamId,
      key: account?.keyIdentifier,
      ...logFields,
      ...(isClientClosed && { client_closed: true }),
      ...(grpcStatus !== undefined && { grpc_status: grpcStatus }),
      ...(span && { trace_id: span.traceId }),
    };
    logger[isError ? 'error' : 'info'](fields, 'request');
    metrics?.observeRequest(method, route, isClientClosed ? 'client_closed' : status, durationMs / 1000);
    // Only a request to the read API has an account.
    if (logFields.app_id !== undefined) metrics?.countApp(logFields.app_id, account ? 'api' : 'collector');
    span?.end(
      `${method} ${route}`,
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
  };
  return { context, end };
}

/** Runs each request over HTTP in its context. If its client disconnects, the status is `client_closed`. */
export function accessLog(logger: Logger, telemetry: Telemetry) {
  return (request: Request, response: Response, next: NextFunction) => {
    const requestId = String(response.getHeader('X-Request-Id'));
    const { method, headers } = request;
    const { context, end } = beginRequest(logger, telemetry, { method, headers, requestId });
    response.once('close', () => {
      end({
        route: getRoute(request),
        status: response.statusCode,
        isClientClosed: !response.writableFinished,
        account: request.account,
      });
    });
    context.run(next);
  };
}

/** The route's pattern, never the path. */
function getRoute({ route }: Request): string {
  const { path } = (route ?? {}) as { path?: unknown };
  return typeof path === 'string' && !path.endsWith(CATCH_ALL) ? path : UNMATCHED;
}
