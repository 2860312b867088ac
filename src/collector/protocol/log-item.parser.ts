import { parseJson } from '../../common/parse-json.js';
import { captureText, headerOf } from '../../ingestion/capture.js';
import {
  LenientReader,
  type Members,
  Rejection,
  asObject,
  reasonOf,
  textDecoder,
} from '../../ingestion/checks.js';
import { countryOf } from '../../ingestion/client-country.js';
import { parseExact } from '../../ingestion/exact-json.js';
import { logsRetention, whyNotInTime } from '../../ingestion/instant.js';
import { isNoise } from '../../ingestion/noise.js';
import { toBraces } from '../../ingestion/path-pattern.js';
import {
  asMethod,
  asStatusCode,
  asUrl,
  asUuid,
  readConsumer,
  sizeDecoder,
} from '../../ingestion/request-checks.js';
import type { RequestRecord } from '../../ingestion/request-record.js';
import type { MessageContext } from '../message.js';
import { clientAddressOf } from './client-address.js';
import { hasMoreValues } from './json-message.js';
import { readItemCapture } from './log-item.capture.js';
import { asEpochMs, memberOf, secondsDecoder } from './members.js';

/** Values that an item may have: 1,000 log messages and as many spans have some 30,000. */
const MAX_VALUES = 300_000;

/** A logged request and the names of the members that were left out, or the one-line reason for which the line is none. */
export type LogItem =
  | { readonly record: RequestRecord; readonly ignored: readonly string[] }
  | { readonly reason: string; readonly isJson: boolean };

/**
 * Reads one line of a `log` file: a request as a client library logged it, in camel case or in snake case. `uuid` and the
 * request's `timestamp`, `method`, `url` and `status_code` are required; any other member that cannot be read is left
 * out. Masked values are kept as they are. Never throws.
 */
export function parseLogItem(line: string, context: MessageContext): LogItem {
  if (hasMoreValues(line, MAX_VALUES))
    return { reason: `item: must have at most ${MAX_VALUES} values`, isJson: true };
  let item: unknown;
  try {
    // Only spans have numbers whose digits count, and reading them is slower.
    item = line.includes('"spans"') ? parseExact(line) : parseJson(line);
    const reader = new LenientReader();
    return { record: readRecord(asObject(item, 'item'), context, reader), ignored: reader.ignored };
  } catch (error) {
    return { reason: reasonOf(error, 'item'), isJson: item !== undefined };
  }
}

function readRecord(item: Members, { env, now }: MessageContext, reader: LenientReader): RequestRecord {
  const request = asObject(item.request, 'request');
  const response = asObject(item.response, 'response');
  const timestamp = asEpochMs(request.timestamp, 'request.timestamp');
  const outOfTime = whyNotInTime(timestamp, logsRetention(now), now);
  if (outOfTime !== undefined) throw new Rejection(outOfTime);
  const url = asUrl(request.url, 'request.url');
  const pattern = reader.read(request.path, 'request.path', textDecoder) ?? '';
  const path = pattern === '' ? null : toBraces(pattern);
  const capture = readItemCapture(item, request, response, reader);
  const client_ip = clientAddressOf(capture.request_headers);
  const responseTime = memberOf(response, 'response_time');
  return {
    request_uuid: asUuid(item.uuid, 'uuid'),
    timestamp,
    env,
    consumer: readConsumer(request.consumer, 'request.consumer', reader),
    method: asMethod(request.method, 'request.method'),
    path,
    is_path_inferred: false,
    url,
    status_code: asStatusCode(memberOf(response, 'status_code'), 'response.status_code'),
    request_size_bytes: reader.read(request.size, 'request.size', sizeDecoder),
    response_size_bytes: reader.read(response.size, 'response.size', sizeDecoder),
    response_time_ms: reader.read(responseTime, 'response.response_time', secondsDecoder),
    client_ip,
    client_country_iso_code: countryOf(client_ip),
    is_noise: isNoise(path, url, headerOf(capture.request_headers, 'user-agent')),
    capture: captureText(capture),
  };
}
