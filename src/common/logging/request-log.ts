import type { NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';

/**
 * One line a request: who asked what, how it ended, in milliseconds. No headers, no query, no bodies: keys and data stay
 * out. A request whose caller left before the answer is told as `aborted`.
 *
 * Not pino-http: it makes two child loggers a request for fields that this line does not have.
 */
export function requestLog(logger: Logger) {
  return (request: Request, response: Response, next: NextFunction) => {
    const startedAt = performance.now();
    response.once('close', () => {
      const { statusCode: status } = response;
      const fields = {
        request_id: response.getHeader('X-Request-Id'),
        method: request.method,
        route: (request.route as { path?: string } | undefined)?.path,
        status,
        duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
        team_id: request.account?.teamId,
        key: request.account?.keyIdentifier,
        ...(response.writableFinished ? {} : { aborted: true }),
      };
      logger[status >= 500 ? 'error' : 'info'](fields, 'request');
    });
    next();
  };
}
