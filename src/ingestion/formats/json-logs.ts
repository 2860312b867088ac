import type { JsonObject } from './decoders.js';

/** JSON logs that cannot be imported, and members that identify them. */
const JSON_LOGS: readonly (readonly [name: string, members: readonly string[]])[] = [
  ['Traefik', ['DownstreamStatus', 'RequestMethod']],
  ['Cloudflare', ['ClientRequestMethod', 'EdgeResponseStatus', 'EdgeStartTimestamp']],
  ['Google Cloud', ['httpRequest']],
  ['Amazon API Gateway', ['httpMethod', 'requestTime']],
  ['Envoy', ['response_flags']],
  ['Caddy', ['resp_headers']],
  ['nginx', ['remote_addr', 'request_uri', 'time_local', 'time_iso8601']],
  ['Apache', ['remoteIP']],
  ['Elastic Common Schema', ['@timestamp']],
  ['pino-http', ['req']],
  ['HTTP Archive', ['log']],
];

/** The software that writes JSON lines with these members; undefined if unknown. */
export function recognizeJsonLog(line: JsonObject): string | undefined {
  const hasMember = (name: string) => Object.hasOwn(line, name);
  return JSON_LOGS.find(([, members]) => members.some(hasMember))?.[0];
}
