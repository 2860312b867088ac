import { type JsonObject, objectDecoder } from './decoders.js';

/** The formats of access logs with one JSON object in each line. */
export const JSON_LOG_FORMATS = ['nginx', 'caddy', 'traefik', 'envoy'] as const;
export type JsonLogFormat = (typeof JSON_LOG_FORMATS)[number];

/** The software that writes a JSON log. */
export interface JsonLog {
  readonly name: string;
  /** Undefined: its log cannot be imported. */
  readonly format?: JsonLogFormat;
}

const has =
  (...names: string[]) =>
  (line: JsonObject) =>
    names.some((name) => Object.hasOwn(line, name));

const NGINX_VARIABLES = has(
  'remote_addr',
  'request_uri',
  'request_method',
  'request_time',
  'body_bytes_sent',
  'http_user_agent',
  'time_local',
  'time_iso8601',
);

/** How each is recognized, in the order in which they are tried. */
const JSON_LOGS: readonly (JsonLog & { readonly matches: (line: JsonObject) => boolean })[] = [
  { name: 'Traefik', format: 'traefik', matches: has('DownstreamStatus', 'RequestMethod') },
  { name: 'Cloudflare', matches: has('ClientRequestMethod', 'EdgeResponseStatus', 'EdgeStartTimestamp') },
  { name: 'Google Cloud', matches: has('httpRequest') },
  { name: 'Amazon API Gateway', matches: has('httpMethod', 'requestTime') },
  {
    name: 'Envoy',
    format: 'envoy',
    matches: (line) => has('response_flags')(line) || (has('response_code')(line) && has('start_time')(line)),
  },
  {
    name: 'Caddy',
    format: 'caddy',
    matches: (line) => has('resp_headers')(line) || has('uri')(objectDecoder.decode(line.request) ?? {}),
  },
  { name: 'nginx', format: 'nginx', matches: NGINX_VARIABLES },
  { name: 'Apache', matches: has('remoteIP') },
  { name: 'Elastic Common Schema', matches: has('@timestamp') },
  { name: 'pino-http', matches: has('req') },
  { name: 'HTTP Archive', matches: has('log') },
];

/** The software that writes JSON lines with these members; undefined if unknown. */
export function recognizeJsonLog(line: JsonObject): JsonLog | undefined {
  return JSON_LOGS.find(({ matches }) => matches(line));
}
