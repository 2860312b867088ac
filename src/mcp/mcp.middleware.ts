import { localhostAllowedOrigins, validateOriginHeader } from '@modelcontextprotocol/server';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { ApiError, notFound } from '../platform/http/api-error.js';

const originNotAllowed = () => new ApiError(403, 'Origin not allowed');

/**
 * Rejects requests that `/mcp` does not serve, before their key is checked. With `MCP=off` the path does not
 * exist.
 *
 * The protocol requires the check of `Origin`: with DNS rebinding, a page under a name that resolves to this
 * machine has another origin than its own server. Programs send no `Origin`, or an origin on this machine or
 * in `CORS_ORIGINS`.
 */
export function allowMcp({ mcp, corsOrigins }: Pick<Config, 'mcp' | 'corsOrigins'>) {
  return ({ headers: { origin } }: Request, _: Response, next: NextFunction) => {
    const isAllowed =
      origin === undefined ||
      corsOrigins.includes('*') ||
      corsOrigins.includes(origin) ||
      validateOriginHeader(origin, localhostAllowedOrigins()).ok;
    next(mcp ? (isAllowed ? undefined : originNotAllowed()) : notFound());
  };
}
