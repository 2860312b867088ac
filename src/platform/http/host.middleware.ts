import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { badRequest } from './api-error.js';

/** A name or an address, and a port (RFC 9110, section 7.2; RFC 3986, section 3.2.2). It may be empty. */
const HOST = /^(?:\[[^\][\s]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Whether the request has exactly one valid host; HTTP/1.0 requests may have none (RFC 9112, section 3.2).
 */
export function hasValidHost({ httpVersion, headers: { host }, rawHeaders }: IncomingMessage): boolean {
  if (host === undefined) return httpVersion === '1.0';
  // `headers` has only the first of several hosts.
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host');
  return hosts.length === 1 && HOST.test(host);
}

/**
 * Rejects invalid hosts. Node accepts some of them, and rejects others without the body and headers of this
 * service.
 */
export function requireHost(request: Request, _: Response, next: NextFunction) {
  next(hasValidHost(request) ? undefined : badRequest());
}
