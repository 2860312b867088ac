import type { Header } from '../../../records/capture.js';
import { MASK } from '../../../records/redaction/mask.js';
import type { DemoRequest } from '../demo-request.js';
import { DEPRECATED } from '../endpoints.js';
import type { Random } from '../../../shared/random.js';
import { getHost } from '../urls.js';

/** @param traceparent the header that ties the request to its trace (W3C Trace Context) */
export function requestHeaders(request: DemoRequest, traceparent: string): Header[] {
  const { env, userAgent, consumer, client_ip, request_size_bytes } = request;
  return [
    ['host', getHost(env)],
    ['user-agent', userAgent],
    ['accept', 'application/json'],
    ['accept-encoding', 'gzip, deflate, br'],
    ...(consumer ? ([['authorization', MASK]] as const) : []),
    ...(request_size_bytes
      ? ([
          ['content-type', 'application/json'],
          ['content-length', String(request_size_bytes)],
        ] as const)
      : []),
    ['x-forwarded-for', client_ip ?? ''],
    ['traceparent', traceparent],
  ];
}

/** Two of the headers have the same name, which is allowed. */
export function responseHeaders(random: Random, request: DemoRequest): Header[] {
  const { timestamp, response_time_ms, status_code } = request;
  return [
    ['date', new Date(timestamp + response_time_ms).toUTCString()],
    ['x-request-id', random.uuid()],
    ['vary', 'Accept-Encoding'],
    ['vary', 'Origin'],
    ...contentHeaders(request),
    ...cacheHeaders(random, request),
    ...deprecationHeaders(request),
    ...(status_code === 401 ? ([['www-authenticate', 'Bearer']] as const) : []),
    ...(status_code === 429 || status_code === 503 ? ([['retry-after', '30']] as const) : []),
  ];
}

function deprecationHeaders({ path, timestamp }: DemoRequest): Header[] {
  if (path !== DEPRECATED.endpoint.path) return [];
  const year = new Date(timestamp).getUTCFullYear();
  return [
    ['deprecation', '@1735689600'],
    ['sunset', new Date(Date.UTC(year + 1, 6)).toUTCString()],
  ];
}

function contentHeaders({ response_size_bytes, entity, status_code }: DemoRequest): Header[] {
  if (response_size_bytes === 0) return [];
  const type =
    entity === 'report' && status_code === 200
      ? 'text/csv; charset=utf-8'
      : 'application/json; charset=utf-8';
  const length: Header =
    response_size_bytes === null
      ? ['transfer-encoding', 'chunked']
      : ['content-length', String(response_size_bytes)];
  return [['content-type', type], length];
}

function cacheHeaders(random: Random, { method, status_code }: DemoRequest): Header[] {
  if (method !== 'GET' || status_code >= 400) return [['cache-control', 'no-store']];
  return [
    ['cache-control', 'private, max-age=60'],
    ['etag', `W/"${random.hex(16)}"`],
  ];
}
