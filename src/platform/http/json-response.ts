import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { HeaderName } from '../openapi/headers.js';
import { parseRawQuery } from './raw-query.js';
import { CODINGS, COMPRESSED_FROM_BYTES } from './zstd.js';

/**
 * Characters that a link's target may not contain unescaped (RFC 3986), except `%`, which already escapes.
 */
const UNSAFE = /[^\x21-\x7e]|["<>\\^`{|}]/g;

/** A 200 in JSON. Its headers also say where the next page is and whether a client's copy is still valid. */
export class JsonResponse {
  /**
   * @param body JSON text
   * @param isSettled whether all described data lies in the past, so that it is unlikely to change
   * @param nextToken the token of the next page, if there is one
   * @param headers others of the response
   */
  constructor(
    readonly body: string | Buffer,
    readonly isSettled: boolean,
    readonly nextToken?: string,
    readonly headers: Readonly<Partial<Record<HeaderName, string>>> = {},
  ) {}
}

/**
 * Sets `Link` (docs/contract.md#link), and `ETag` with its related headers
 * (docs/contract.md#conditional-requests).
 */
export function setResponseHeaders(
  response: Response,
  { body, isSettled, nextToken, headers }: JsonResponse,
): void {
  response.set(headers);
  if (nextToken !== undefined)
    response.set('Link', `<${nextPage(response.req.originalUrl, nextToken)}>; rel="next"`);
  if (!isSettled) return;
  response.set({ 'Cache-Control': 'private, no-cache', ETag: entityTag(response.req, body) });
  response.vary('Accept-Encoding');
}

/** A relative reference with a query alone stays valid behind a proxy that changes the path. */
function nextPage(target: string, token: string): string {
  const query = parseRawQuery(target);
  query.delete('next_token');
  const pairs = Array.from(
    query,
    ([name, raw]) => `${encodeURIComponent(name)}=${raw.replace(UNSAFE, encodeURIComponent)}`,
  );
  return `?${[...pairs, `next_token=${token}`].join('&')}`;
}

/**
 * A hash of the body. It is weak if the body may be compressed, because its codings differ in their bytes
 * (RFC 9110, section 8.8.3.3).
 */
function entityTag(request: Request, body: string | Buffer): string {
  const tag = `"${hash('sha256', body, 'base64url')}"`;
  const isCompressed = Buffer.byteLength(body) >= COMPRESSED_FROM_BYTES && request.acceptsEncodings(CODINGS);
  return isCompressed ? `W/${tag}` : tag;
}
