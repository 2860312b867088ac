import { type Capture, captureText, headerOf } from './capture.js';
import { type Members, Rejection, asObject, asText, optional, reasonOf } from './checks.js';
import { countryOf } from './client-country.js';
import { parseExact } from './exact-json.js';
import { asInstant } from './instant.js';
import { captureOf } from './ndjson.capture.js';
import { isNoise } from './noise.js';
import type { LineResult, ParsedRequest } from './parsed-request.js';
import { pathPatternOf, toBraces } from './path-pattern.js';
import {
  asConsumer,
  asEnv,
  asMethod,
  asResponseTime,
  asSize,
  asStatusCode,
  asUrl,
  asUuid,
} from './request-checks.js';
import { addressOf } from './text.js';

/**
 * Reads one line of NDJSON: an object in the shape of Request Details. `timestamp`, `method`, `url` and
 * `status_code` are required; every other member may be missing or `null`, and members not known are ignored.
 * What is missing is made: `path` from the URL (a `path` of `null` says that no route matched), the country from
 * `client_ip`, a span's duration from its times.
 *
 * Beyond Request Details it takes `consumer` as an object of `identifier`, `name` and `group`, and `user_agent`,
 * else found among the request headers, for the health-check rule. A line longer than it should be in one text is
 * cut in `path` and in the consumer's, and rejected for its URL. Never throws.
 *
 * @param shiftMs whole milliseconds by which all times of the request are moved
 */
export function parseNdjsonLine(line: string, shiftMs = 0): LineResult {
  try {
    return { record: requestOf(asObject(parseExact(line), 'line'), shiftMs) };
  } catch (error) {
    return { reason: reasonOf(error, 'line') };
  }
}

function requestOf(source: Members, shiftMs: number): ParsedRequest {
  // What is required comes first: its faults say most about a line.
  const timestamp = asInstant(source.timestamp, 'timestamp') + shiftMs;
  const method = asMethod(source.method, 'method');
  const url = asUrl(source.url, 'url');
  const status_code = asStatusCode(source.status_code, 'status_code');
  const path = pathOf(source.path, url);
  const client_ip = optional(source.client_ip, 'client_ip', asAddress);
  const capture = captureOf(source, shiftMs);
  return {
    request_uuid: optional(source.request_uuid, 'request_uuid', asUuid),
    timestamp,
    env: optional(source.env, 'env', asEnv),
    consumer: optional(source.consumer, 'consumer', asConsumer),
    method,
    path,
    url,
    status_code,
    request_size_bytes: optional(source.request_size_bytes, 'request_size_bytes', asSize),
    response_size_bytes: optional(source.response_size_bytes, 'response_size_bytes', asSize),
    response_time_ms: optional(source.response_time_ms, 'response_time_ms', asResponseTime) ?? 0,
    client_ip,
    client_country_iso_code: countryFrom(source.client_country_iso_code) ?? countryOf(client_ip),
    is_noise: isNoise(path, url, userAgentOf(source.user_agent, capture)),
    capture: captureText(capture),
  };
}

function pathOf(value: unknown, url: string): string | null {
  if (value === undefined) return pathPatternOf(url);
  const path = optional(value, 'path', asText) ?? '';
  return path === '' ? null : toBraces(path);
}

function asAddress(value: unknown, name: string): string {
  const address = addressOf(asText(value, name));
  if (address === null) throw new Rejection(`${name}: must be an IPv4 or IPv6 address`);
  return address;
}

function countryFrom(value: unknown): string | null {
  const code = optional(value, 'client_country_iso_code', asText)?.toUpperCase();
  if (code === undefined) return null;
  if (!/^[A-Z]{2}$/.test(code)) throw new Rejection('client_country_iso_code: must be two letters');
  return code;
}

function userAgentOf(value: unknown, { request_headers }: Capture): string | null {
  return optional(value, 'user_agent', asText) ?? headerOf(request_headers, 'user-agent');
}
