import { localhostAllowedOrigins, validateOriginHeader } from '@modelcontextprotocol/server';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { ApiError, notFound } from '../platform/http/api-error.js';

const originNotAllowed = () => new ApiError(403, 'Origin not allowed');

/**
 * Lets only those requests to `/mcp` that it serves, before their key is looked at. With `MCP=off` there is
 * no such path.
 *
 * The protocol requires the check of `Origin`: a page of a name that resolves to this machine (DNS rebinding)
 * is of another origin than its own server. Programs send no `Origin`; those that do are of this machine or
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
