import type { IncomingMessage, Server } from 'node:http';
import type { NextFunction, Request, Response } from 'express';

export const RECEIVE_MS = 30_000;

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/**
 * Limits the time for the arrival of a request, like the server's own `requestTimeout`, which cannot be
 * lifted for a single request. A streamed body arrives only as fast as it is stored.
 */
export function limitReceiveTime(server: Server) {
  return (request: Request, _response: Response, next: NextFunction) => {
    const timer = setTimeout(() => {
      const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      server.emit('clientError', error, request.socket);
    }, RECEIVE_MS).unref();
    timers.set(request, timer);
    for (const event of ['end', 'close'])
      request.once(event, () => {
        clearTimeout(timer);
      });
    next();
  };
}

/** Lifts the limit for a body whose reader has its own limit. */
export function liftReceiveLimit(request: IncomingMessage): void {
  clearTimeout(timers.get(request));
}
