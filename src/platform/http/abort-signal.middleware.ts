import type { NextFunction, Request, Response } from 'express';
import { QueryTimedOut } from '../../store/client/clickhouse.errors.js';
import { RequestContext } from '../../telemetry/request-context.js';

/** The client closed the connection before the response was sent (nginx: 499). */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected';
}

/** A response that says when its client leaves. */
export interface Disconnectable {
  readonly writableFinished: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/** Calls back if the client disconnects before it has the response. */
export function onDisconnect(response: Disconnectable, callBack: (reason: ClientDisconnected) => void): void {
  response.once('close', () => {
    if (!response.writableFinished) callBack(new ClientDisconnected('the client closed the connection'));
  });
}

/** Added to the time limit of a query for the time limit of a request, which may have several queries. */
const SLACK_MS = 1_000;

/**
 * Gives the context of every request a signal that aborts when the client disconnects or the time limit is
 * over.
 */
export function abortSignal(queryTimeoutSeconds: number) {
  const timeoutMs = queryTimeoutSeconds * 1000 + SLACK_MS;
  return (_: Request, response: Response, next: NextFunction) => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      // A streamed response takes as long as its client reads; each of its queries has its own limit.
      if (!response.headersSent) controller.abort(new QueryTimedOut(`no response within ${timeoutMs} ms`));
    }, timeoutMs);
    response.once('close', () => {
      clearTimeout(timer);
    });
    onDisconnect(response, (reason) => {
      controller.abort(reason);
    });
    if (RequestContext.current) RequestContext.current.signal = controller.signal;
    next();
  };
}
