import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/**
 * The caller's `X-Request-Id` when it is 1 to 128 visible ASCII characters, else a new one
 * (docs/contract.md#headers).
 */
export function resolveRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && VISIBLE_ASCII.test(header) ? header : randomUUID();
}

/**
 * Sets `X-Request-Id` and `X-Content-Type-Options: nosniff` on every response, and `Cache-Control: no-store`
 * on those of `/v1`.
 *
 * @param publicPath the path before `/v1`
 */
export function requestId(publicPath: string) {
  const isOperation = ({ url }: Request) =>
    url.startsWith(publicPath) && /^\/v1(?:[/?]|$)/.test(url.slice(publicPath.length));
  return (request: Request, response: Response, next: NextFunction) => {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('X-Request-Id', resolveRequestId(request.headers['x-request-id']));
    if (isOperation(request)) {
      response.setHeader('Cache-Control', 'no-store');
      // Default type, because bodies that the engine wrote are sent as text or bytes.
      response.setHeader('Content-Type', 'application/json; charset=utf-8');
    }
    next();
  };
}
