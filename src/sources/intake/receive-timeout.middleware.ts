import type { IncomingMessage, Server } from 'node:http';
import type { NextFunction, Request, Response } from 'express';

const RECEIVE_MS = 30_000;

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/**
 * Limits the time in which a request must arrive, as the server's own `requestTimeout` does, which cannot be
 * lifted for one request. A streamed body arrives as fast as it is stored.
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

/** Lifts the limit, for a body whose reader has one of its own. */
export function liftReceiveLimit(request: IncomingMessage): void {
  clearTimeout(timers.get(request));
}
