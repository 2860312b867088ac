import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { badRequest } from './api-error.js';

/** A name or an address, and a port (RFC 9110, section 7.2; RFC 3986, section 3.2.2). It may be empty. */
const HOST = /^(?:\[[^\][\s]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** Whether the request has exactly one valid host, in HTTP/1.0 at most one (RFC 9112, section 3.2). */
export function hasValidHost({ httpVersion, headers: { host }, rawHeaders }: IncomingMessage): boolean {
  if (host === undefined) return httpVersion === '1.0';
  // `headers` has only the first of several.
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host');
  return hosts.length === 1 && HOST.test(host);
}

/** Rejects invalid hosts that Node accepts, or would reject without our body and headers. */
export function requireHost(request: Request, _: Response, next: NextFunction) {
  next(hasValidHost(request) ? undefined : badRequest());
}
