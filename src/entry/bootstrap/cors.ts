import type { INestApplication } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { RESPONSE_HEADERS } from '../../platform/openapi/headers.js';

const POLICY = {
  methods: ['GET', 'HEAD', 'POST'],
  allowedHeaders: [
    'Api-Key',
    'Authorization',
    'Content-Type',
    'If-None-Match',
    'X-Request-Id',
    'Traceparent',
    'Tracestate',
    'Mcp-Protocol-Version',
    'Mcp-Method',
    'Mcp-Name',
  ],
  exposedHeaders: Object.keys(RESPONSE_HEADERS),
  /** Seconds for which a browser keeps the response to a preflight. */
  maxAge: 600,
};

/**
 * Lets pages of these origins read responses (docs/contract.md#cors). Preflights need no key and are not
 * counted, because browsers send them without headers. Other origins get no header.
 *
 * @param origins as browsers send them; `*`: all
 */
export function allowOrigins(app: INestApplication, origins: readonly string[]): void {
  const isForAll = origins.includes('*');
  if (!isForAll)
    app.use((_: Request, response: Response, next: NextFunction) => {
      response.vary('Origin');
      next();
    });
  app.enableCors(({ headers }: Request, callback: (error: null, options: object) => void) => {
    const { origin = '' } = headers;
    callback(null, {
      ...POLICY,
      origin: isForAll ? '*' : origins.includes(origin) && origin,
      // Without this header, OPTIONS is a method like any other.
      preflightContinue: headers['access-control-request-method'] === undefined,
    });
  });
}
