import { parseJson } from '../../common/parse-json.js';
import { captureText, headerOf } from '../../ingestion/capture.js';
import {
  type Check,
  type Members,
  Rejection,
  asObject,
  asText,
  numberFrom,
  optional,
  reasonOf,
} from '../../ingestion/checks.js';
import { countryOf } from '../../ingestion/client-country.js';
import { parseExact } from '../../ingestion/exact-json.js';
import { logsRetention, whyNotInTime } from '../../ingestion/instant.js';
import { isNoise } from '../../ingestion/noise.js';
import { toBraces } from '../../ingestion/path-pattern.js';
import {
  asConsumer,
  asMethod,
  asResponseTime,
  asSize,
  asStatusCode,
  asUrl,
  asUuid,
} from '../../ingestion/request-checks.js';
import type { RequestRecord } from '../../ingestion/request-record.js';
import type { MessageContext } from '../message.js';
import { clientAddressOf } from './client-address.js';
import { captureOf } from './log-item.capture.js';
import { asEpochMs, memberOf } from './members.js';

const asSeconds = numberFrom(0, Number.MAX_SAFE_INTEGER);
const asMilliseconds: Check<number> = (value, name) => asResponseTime(asSeconds(value, name) * 1000, name);

/** A logged request, or the one-line reason for which the line is none. */
export type LogItem =
  { readonly record: RequestRecord } | { readonly reason: string; readonly isJson: boolean };

/**
 * Reads one line of a `log` file: a request as a client library logged it, in camel case or in snake case. Masked
 * values are kept as they are. Never throws.
 */
export function parseLogItem(line: string, context: MessageContext): LogItem {
  let item: unknown;
  try {
    // Only spans have numbers whose digits count, and reading them is slower.
    item = line.includes('"spans"') ? parseExact(line) : parseJson(line);
    return { record: recordOf(asObject(item, 'item'), context) };
  } catch (error) {
    return { reason: reasonOf(error, 'item'), isJson: item !== undefined };
  }
}

function recordOf(item: Members, { env, now }: MessageContext): RequestRecord {
  const request = asObject(item.request, 'request');
  const response = asObject(item.response, 'response');
  const timestamp = asEpochMs(request.timestamp, 'request.timestamp');
  const outOfTime = whyNotInTime(timestamp, logsRetention(now), now);
  if (outOfTime !== undefined) throw new Rejection(outOfTime);
  const url = asUrl(request.url, 'request.url');
  const pattern = optional(request.path, 'request.path', asText) ?? '';
  const path = pattern === '' ? null : toBraces(pattern);
  const capture = captureOf(item, request, response);
  const client_ip = clientAddressOf(capture.request_headers);
  return {
    request_uuid: asUuid(item.uuid, 'uuid'),
    timestamp,
    env,
    consumer: optional(request.consumer, 'request.consumer', asConsumer),
    method: asMethod(request.method, 'request.method'),
    path,
    is_path_inferred: false,
    url,
    status_code: asStatusCode(memberOf(response, 'status_code'), 'response.status_code'),
    request_size_bytes: optional(request.size, 'request.size', asSize),
    response_size_bytes: optional(response.size, 'response.size', asSize),
    response_time_ms: optional(memberOf(response, 'response_time'), 'response.response_time', asMilliseconds),
    client_ip,
    client_country_iso_code: countryOf(client_ip),
    is_noise: isNoise(path, url, headerOf(capture.request_headers, 'user-agent')),
    capture: captureText(capture),
  };
}
