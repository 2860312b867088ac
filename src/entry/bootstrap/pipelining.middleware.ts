import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../../platform/http/api-error.js';

/**
 * Rejects pipelined messages, so that a connection has only one message in memory. No client library uses
 * pipelining.
 */
export function refusePipelined(request: Request, response: Response, next: NextFunction): void {
  const before = last.get(request.socket);
  if (!before || before.writableEnded) {
    last.set(request.socket, response);
    next();
    return;
  }
  // The connection stays open: closing it with unread bytes would reset it and lose the responses.
  next(new ApiError(503, 'One message at a time on a connection', { 'Retry-After': '1' }));
}

/** The response to the last message that was not rejected, by connection. */
const last = new WeakMap<Request['socket'], Response>();
