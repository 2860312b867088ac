import { parseAddress } from '../../../shared/ip-address.js';
import { parseExact } from '../../../shared/json/exact-json.js';
import { getHeader, toCaptureJson } from '../../../records/capture.js';
import { lookUpCountry } from '../../decoding/client-country.js';
import { isStaticAssetOrHealthCheck } from '../../decoding/log-exclusion.js';
import {
  type JsonObject,
  LenientReader,
  createTextDecoder,
  explainFailure,
  isAbsent,
  textDecoder,
} from '../../../records/decoding/decoders.js';
import { findJsonFormat } from './log-formats.js';
import { readCapture } from '../../../records/decoding/ndjson.capture.js';
import { TOO_MANY_VALUES } from './object-lines.js';
import { type LineResult, type ParseOptions, toFullUrl } from './parsed-request.js';
import { findMcpOperation } from '../../decoding/mcp-operation.js';
import { inferPathPattern } from '../../decoding/path-pattern.js';
import { MAX_PATH, addOperation, removeOperation } from '../../../records/operation.js';
import {
  envDecoder,
  methodDecoder,
  readConsumer,
  responseTimeDecoder,
  sizeDecoder,
  statusCodeDecoder,
  urlDecoder,
  uuidDecoder,
} from '../../decoding/request-decoders.js';
import { MAX_RECORD_VALUES, hasMoreValues } from '../../../records/limits.js';
import { truncate } from '../../../records/text.js';
import { timestampDecoder } from '../../../records/decoding/timestamps.js';

const REQUIRED = {
  timestamp: timestampDecoder,
  method: methodDecoder,
  url: urlDecoder,
  status_code: statusCodeDecoder,
};

const NAMES = Object.keys(REQUIRED) as (keyof typeof REQUIRED)[];

const pathDecoder = createTextDecoder('must be a string', (path) => truncate(path, MAX_PATH));
const addressDecoder = createTextDecoder(
  'must be an IPv4 or IPv6 address',
  (text) => parseAddress(text) ?? undefined,
);
const countryDecoder = createTextDecoder('must be two letters', (text) =>
  /^[A-Z]{2}$/i.test(text) ? text.toUpperCase() : undefined,
);

const NOT_AN_OBJECT = { reason: 'line: must be a JSON object' };
export const IN_ARRAY = {
  reason: 'line: belongs to a JSON array; NDJSON has one object in each line, as jq -c ".[]" writes it',
};

/**
 * Reads one line of NDJSON: an object in the shape of Request Details. `timestamp`, `method`, `url` and
 * `status_code` are required; every other member may be missing or `null`, invalid ones are left out, and
 * unknown members are ignored. Missing values are derived: `path` from the URL (a `path` of `null` means that
 * no route matched), the country from `client_ip`, a span's duration from its times.
 *
 * A `path` is a pattern as in the API and is stored unchanged, but for the operation that the headers of MCP
 * name. In addition to Request Details, the line may
 * have `consumer` as an object of `identifier`, `name` and `group`, and `user_agent` (by default that of the
 * request headers) for the health-check rule. Texts of `path` and of the consumer are truncated; a URL that
 * is too long rejects the line. Never throws.
 */
export function parseNdjsonLine(line: string, options: ParseOptions = {}): LineResult {
  // Before parsing, because a syntax error with its stack trace is slow.
  const beginning = line.trimStart().charAt(0);
  if (beginning !== '{') return beginning === '[' ? IN_ARRAY : NOT_AN_OBJECT;
  if (hasMoreValues(line, MAX_RECORD_VALUES)) return { reason: TOO_MANY_VALUES };
  try {
    return readRequest(parseExact(line) as JsonObject, options);
  } catch (error) {
    return { reason: explainFailure(error, 'line') };
  }
}

function readRequest(source: JsonObject, { shiftMs = 0, baseUrl }: ParseOptions): LineResult {
  const timestamp = REQUIRED.timestamp.decode(source.timestamp);
  const method = REQUIRED.method.decode(source.method);
  const target = REQUIRED.url.decode(source.url);
  const status_code = REQUIRED.status_code.decode(source.status_code);
  if (timestamp === undefined || method === undefined || target === undefined || status_code === undefined)
    return { reason: findReason(source) };
  const reader = new LenientReader();
  const url = toFullUrl(target, baseUrl);
  const given = source.path === null ? '' : reader.read(source.path, 'path', pathDecoder);
  const route = given === null ? inferPathPattern(url) : given || null;
  const client_ip = reader.read(source.client_ip, 'client_ip', addressDecoder);
  const capture = readCapture(source, shiftMs, reader);
  const record = {
    request_uuid: reader.read(source.request_uuid, 'request_uuid', uuidDecoder),
    timestamp: timestamp + shiftMs,
    env: reader.read(source.env, 'env', envDecoder),
    consumer: readConsumer(source.consumer, 'consumer', reader),
    method,
    path: addOperation(route, findMcpOperation(method, status_code, capture.request_headers)),
    is_path_inferred: given === null,
    url,
    status_code,
    request_size_bytes: reader.read(source.request_size_bytes, 'request_size_bytes', sizeDecoder),
    response_size_bytes: reader.read(source.response_size_bytes, 'response_size_bytes', sizeDecoder),
    response_time_ms: reader.read(source.response_time_ms, 'response_time_ms', responseTimeDecoder),
    client_ip,
    client_country_iso_code:
      reader.read(source.client_country_iso_code, 'client_country_iso_code', countryDecoder) ??
      lookUpCountry(client_ip),
    excluded_from_logs: isStaticAssetOrHealthCheck(
      route === null ? null : removeOperation(route),
      url,
      reader.read(source.user_agent, 'user_agent', textDecoder) ??
        getHeader(capture.request_headers, 'user-agent'),
      given === null,
    ),
    captured_json: toCaptureJson(capture),
  };
  return { record, ignored: reader.ignored };
}

/**
 * Whether an object is another kind of JSON: a request with one invalid member still has the other members.
 */
export function isForeignObject(source: JsonObject): boolean {
  return NAMES.filter((name) => isAbsent(source[name])).length > 1;
}

/** Why an object is not a request: it is another kind of JSON, or a required member is invalid. */
function findReason(source: JsonObject): string {
  const broken = NAMES.find((name) => REQUIRED[name].decode(source[name]) === undefined);
  if (isForeignObject(source) || broken === undefined) {
    const log = findJsonFormat(source)?.label;
    const kind = log === undefined ? '' : ` (it looks like a log of ${log})`;
    return `line: is JSON, but not a request${kind}: needs timestamp, method, url and status_code`;
  }
  return `${broken}: ${REQUIRED[broken].ruleFor(source[broken])}`;
}
