import { parseExact } from '../../shared/json/exact-json.js';
import { parseJson } from '../../shared/json/parse-json.js';
import { getHeader, toCaptureJson } from '../../records/capture.js';
import { lookUpCountry } from '../decoding/client-country.js';
import {
  InvalidRecordError,
  type JsonObject,
  LenientReader,
  decodeObject,
  explainFailure,
  textDecoder,
} from '../../records/decoding/decoders.js';
import { findMcpOperation } from '../decoding/mcp-operation.js';
import { normalizeRoutePattern } from '../decoding/path-pattern.js';
import {
  decodeMethod,
  decodeStatusCode,
  decodeUrl,
  decodeUuid,
  readConsumer,
  sizeDecoder,
} from '../decoding/request-decoders.js';
import { checkRetention, getLogsRetention } from '../../records/decoding/timestamps.js';
import { isStaticAssetOrHealthCheck } from '../decoding/log-exclusion.js';
import { addOperation } from '../../records/operation.js';
import type { RequestRecord } from '../../records/request-record.js';
import { MAX_RECORD_VALUES, hasMoreValues } from '../../records/limits.js';
import { type SpanRecord, toSpanRecords } from '../../records/span-record.js';
import type { MessageContext } from '../../write/batches/message.js';
import { findClientAddress } from '../decoding/client-address.js';
import { decodeEpochMs, getField, secondsDecoder } from './hub-fields.js';
import { readItemCapture } from './log-item.capture.js';

/**
 * A logged request, its spans and the names of the members that were left out; or the one-line reason why the
 * line is invalid.
 */
export type LogItem =
  | {
      readonly record: RequestRecord;
      readonly spans: readonly SpanRecord[];
      readonly ignored: readonly string[];
    }
  | { readonly reason: string; readonly isJson: boolean };

/**
 * Reads one line of a `log` file: a request as a client library logged it, in camel case or in snake case.
 * `uuid` and the request's `timestamp`, `method`, `url` and `status_code` are required; any other invalid
 * member is left out. Masked values stay unchanged. Never throws.
 */
export function parseLogItem(line: string, context: MessageContext): LogItem {
  if (hasMoreValues(line, MAX_RECORD_VALUES))
    return { reason: `item: must have at most ${MAX_RECORD_VALUES} values`, isJson: true };
  let item: unknown;
  try {
    // Only spans have numbers beyond 2^53, and exact parsing is slower.
    item = line.includes('"spans"') ? parseExact(line) : parseJson(line);
    const reader = new LenientReader();
    return { ...readItem(decodeObject(item, 'item'), context, reader), ignored: reader.ignored };
  } catch (error) {
    return { reason: explainFailure(error, 'item'), isJson: item !== undefined };
  }
}

function readItem(item: JsonObject, { env, now }: MessageContext, reader: LenientReader) {
  const request = decodeObject(item.request, 'request');
  const response = decodeObject(item.response, 'response');
  const timestamp = decodeEpochMs(request.timestamp, 'request.timestamp');
  const expired = checkRetention(timestamp, getLogsRetention(now), now);
  if (expired !== undefined) throw new InvalidRecordError(expired);
  const url = decodeUrl(request.url, 'request.url');
  const pattern = reader.read(request.path, 'request.path', textDecoder) ?? '';
  const route = pattern === '' ? null : normalizeRoutePattern(pattern);
  const capture = readItemCapture(item, request, response, reader);
  const client_ip = findClientAddress(capture.request_headers);
  const method = decodeMethod(request.method, 'request.method');
  const status_code = decodeStatusCode(getField(response, 'status_code'), 'response.status_code');
  const responseTime = getField(response, 'response_time');
  const record: RequestRecord = {
    request_uuid: decodeUuid(item.uuid, 'uuid'),
    timestamp,
    env,
    consumer: readConsumer(request.consumer, 'request.consumer', reader),
    method,
    path: addOperation(route, findMcpOperation(method, status_code, capture.request_headers)),
    is_path_inferred: false,
    url,
    status_code,
    request_size_bytes: reader.read(request.size, 'request.size', sizeDecoder),
    response_size_bytes: reader.read(response.size, 'response.size', sizeDecoder),
    response_time_ms: reader.read(responseTime, 'response.response_time', secondsDecoder),
    client_ip,
    client_country_iso_code: lookUpCountry(client_ip),
    excluded_from_logs: isStaticAssetOrHealthCheck(
      route,
      url,
      getHeader(capture.request_headers, 'user-agent'),
    ),
    captured_json: toCaptureJson(capture),
  };
  return { record, spans: toSpanRecords(capture, now) };
}
