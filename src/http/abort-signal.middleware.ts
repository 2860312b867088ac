import type { NextFunction, Request, Response } from 'express';
import { QueryTimedOut } from '../clickhouse/clickhouse.errors.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Aborts with `ClientDisconnected` when nobody waits for the answer any more, with `QueryTimedOut` when it takes too long. */
    signal?: AbortSignal;
  }
}

/** The caller closed the connection before the answer was sent. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected';
}

/** How long after the time limit of a query the whole request, which may be several, is over. */
const SLACK_MS = 1_000;

/** Gives every request a signal for which what is done on its behalf stops. */
export function abortSignal(queryTimeoutSeconds: number) {
  const timeoutMs = queryTimeoutSeconds * 1000 + SLACK_MS;
  return (request: Request, response: Response, next: NextFunction) => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      // What is sent while it is read takes as long as its reader; each of its queries has a limit of its own.
      if (!response.headersSent) controller.abort(new QueryTimedOut(`no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    response.once('close', () => {
      clearTimeout(timer);
      if (!response.writableFinished) controller.abort(new ClientDisconnected('the caller is gone'));
    });
    request.signal = controller.signal;
    next();
  };
}
