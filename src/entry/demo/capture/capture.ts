import { EMPTY_CAPTURE, toCaptureJson } from '../../../records/capture.js';
import type { RequestRecord } from '../../../records/request-record.js';
import type { DemoRequest } from '../demo-request.js';
import { Random } from '../../../shared/random.js';
import { requestBody, responseBody } from './bodies.js';
import { createException } from './exceptions.js';
import { requestHeaders, responseHeaders } from './headers.js';
import { createLogs } from './logs.js';
import { createSpans } from './spans.js';

/** The request with its captured data: always the same for the same request. */
export function withCapture(request: DemoRequest): RequestRecord {
  return { ...request, captured_json: createCapture(request) };
}

/**
 * Most requests have the default captures of client libraries: response headers, and the exception of a
 * 500. One in thirty, and more of the interesting ones, have everything (docs/contract.md#captures).
 */
export function createCapture(request: DemoRequest): string {
  if (request.excluded_from_logs) return '';
  const random = new Random(...deriveSeed(request));
  const everything = random.chance(shareCaptured(request));
  const basics = {
    ...EMPTY_CAPTURE,
    response_headers: responseHeaders(random, request),
    exception: createException(random, request),
  };
  if (!everything) return toCaptureJson(basics);
  const [trace_id, rootId] = [random.hex(32), random.hex(16)];
  return toCaptureJson({
    ...basics,
    request_headers: requestHeaders(request, `00-${trace_id}-${rootId}-01`),
    request_body_json: requestBody(random, request),
    response_body_json: responseBody(random, request),
    trace_id,
    logs: createLogs(random, request),
    spans: createSpans(random, request, rootId),
  });
}

function shareCaptured({ entity, env, status_code }: DemoRequest): number {
  if (entity === null) return 0;
  if (status_code === 500) return 0.6;
  return env === 'dev' ? 0.15 : 0.03;
}

function deriveSeed({ request_uuid }: DemoRequest): [number, number] {
  return [parseInt(request_uuid.slice(0, 8), 16), parseInt(request_uuid.slice(24, 32), 16)];
}
