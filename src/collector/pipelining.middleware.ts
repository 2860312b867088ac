import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../http/api-error.js';

/**
 * Refuses a message that came before the one in front of it on the same connection has its response: a connection holds
 * one message in memory, however many are written to it. No client library pipelines.
 */
export function refusePipelined(request: Request, response: Response, next: NextFunction): void {
  const before = last.get(request.socket);
  if (!before || before.writableEnded) {
    last.set(request.socket, response);
    next();
    return;
  }
  // The connection stays open: one that is closed with bytes unread is reset, and the responses are lost.
  next(new ApiError(503, 'One message at a time on a connection', { 'Retry-After': '1' }));
}

/** By connection, the response to the last message that was not refused. */
const last = new WeakMap<Request['socket'], Response>();
