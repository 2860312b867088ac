import { getAddresses } from '../bootstrap/first-steps.js';
import type { Config } from '../../config/config.js';
import type { NotLogged, ProfileSummary } from '../../sources/lines/files/import-profile.js';

const SECOND_MS = 1_000;
const KINDS: Readonly<Record<keyof NotLogged, string>> = {
  static_assets: 'static assets',
  health_checks: 'health checks',
  older_than_15_days: 'older than 15 days',
};
/** How to add response times to a log, by its format. */
const RESPONSE_TIMES: Readonly<Record<string, string>> = {
  combined:
    'nginx: append $request_time to the log_format. Apache: append %D to the LogFormat and import with --format "LogFormat …"',
  nginx: 'add "request_time":"$request_time" to the log_format',
  w3c: 'IIS: turn on the field time-taken',
  apigateway: 'add "responseLatency":"$context.responseLatency" to the log format',
  'nginx-proxy-manager': 'its format has none',
  envoy: 'add %DURATION% to the log format',
  fastly:
    'add "response_time_us":%{time.elapsed.usec}V to the log format and import with --map response_time_us=response_time_us',
  cloudflare: 'set the timestamps of the job to unixnano or rfc3339ns',
  uvicorn: 'its format has none',
};

/** The import that the sentences explain. */
interface Imported extends ProfileSummary {
  readonly app: number;
  /** The formats of its files. */
  readonly formats: readonly string[];
  /** Number of requests of all files. */
  readonly requests: number;
  readonly baseUrl?: string | undefined;
}

/** Sentences that explain the result of an import to people, and what to do next. */
export function adviseOnImport(imported: Imported, config: Config): string[] {
  const { app, formats, from, to, hosts, requests, with_response_time, not_logged, baseUrl } = imported;
  if (from === null || to === null) return [];
  const lines = [''];
  const kinds = (Object.keys(KINDS) as (keyof NotLogged)[]).filter((kind) => not_logged[kind] !== undefined);
  if (kinds.length > 0)
    lines.push(
      `Counted, but not in the request logs: ${kinds.map((kind) => `${(not_logged[kind] ?? 0).toLocaleString('en')} ${KINDS[kind]}`).join(', ')}.`,
    );
  if (with_response_time === 0) {
    const cures = formats.map((format) => RESPONSE_TIMES[format]).filter((cure) => cure !== undefined);
    lines.push(`There are no response times in it.${cures.map((cure) => ` ${capitalize(cure)}.`).join('')}`);
  } else if (with_response_time < requests)
    lines.push(
      `${with_response_time.toLocaleString('en')} of ${requests.toLocaleString('en')} requests have a response time.`,
    );
  if (hosts.length === 0 && baseUrl === undefined)
    lines.push('Its URLs have no host: --base-url https://api.example.com adds it to those that are new.');
  if (config.dashboard) {
    const end = new Date(Date.parse(to) + SECOND_MS).toISOString();
    lines.push(`Dashboard: ${getAddresses(config).api}/?app=${app}&from=${from}&to=${end}`);
  }
  return lines;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
