import type { NextFunction, Request, Response } from 'express';
import { badRequest } from './api-error.js';

/** Refuses HTTP/1.1 without a host (RFC 9112, section 3.2); Node's own 400 has neither our body nor our headers. */
export function requireHost({ httpVersion, headers }: Request, _: Response, next: NextFunction) {
  if (httpVersion === '1.1' && headers.host === undefined) next(badRequest());
  else next();
}
