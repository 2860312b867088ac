import type { JsonObject } from './decoders.js';

/** Logs in JSON that the import does not read, and members by any of which one is known. */
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

/** The software whose log the members of a JSON line are; undefined when none is known. */
export function recognizeJsonLog(line: JsonObject): string | undefined {
  const hasMember = (name: string) => Object.hasOwn(line, name);
  return JSON_LOGS.find(([, members]) => members.some(hasMember))?.[0];
}
