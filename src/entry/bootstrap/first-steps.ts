import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Admin } from '../../ops/admin/admin.js';
import { AdminError } from '../../ops/admin/admin.error.js';
import type { Config } from '../../config/config.js';
import { formatBaseUrl } from '../../platform/http/listen.js';
import { ENV_FILE } from './env-file.js';

/**
 * The objects that a first application needs. Key and token are shown once, because the store only has their
 * hashes.
 */
export interface FirstApp {
  team: { id: number; name: string };
  app: { id: number; name: string; client_id: string };
  key: string;
  writeToken: string;
}

/**
 * Creates a team, an app, an API key and a write token.
 *
 * @throws AdminError if the store already has a team
 */
export async function createFirstApp(
  admin: Admin,
  config: Config,
  { team: teamName = 'My team', app: appName = 'My API' }: { team?: string; app?: string } = {},
): Promise<FirstApp> {
  const [present] = await admin.teams.list();
  if (present)
    throw new AdminError(
      `${describeStore(config)} has a team already: ${present.id} ${JSON.stringify(present.name)}. ` +
        `Add to it with app create --team ${present.id}, key create --team ${present.id} and write-token create.`,
    );
  const team = await admin.teams.create(teamName, 'premium');
  const app = await admin.apps.create(team.id, appName, 'unknown');
  const { key } = await admin.keys.create(team.id, { name: 'init' });
  const { token } = await admin.writeTokens.create(app.id, { name: 'init' });
  return { team, app, key, writeToken: token };
}

/** Says for people in which store something was created, because people with two stores confuse them. */
export async function describePlace(admin: Admin, config: Config, teamId: number, appId?: number) {
  const team = await admin.teams.require(teamId);
  const app =
    appId === undefined ? '' : `app ${appId} ${JSON.stringify((await admin.apps.require(appId)).name)}, `;
  return `${app}team ${teamId} ${JSON.stringify(team.name)}, ${describeStore(config)}`;
}

/** Says for people where the data is. */
function describeStore({ clickhouse, dataDir }: Config): string {
  return clickhouse.url === undefined
    ? `the store in ${dataDir}`
    : `the database ${clickhouse.database} at ${new URL(clickhouse.url).host}`;
}

/**
 * Names the store in `.env`, so that commands of every shell in this directory use the same store.
 *
 * @returns a sentence for people; undefined if the file already names a store, or the store is a server
 */
export function writeEnvFile({ clickhouse, dataDir }: Config): string | undefined {
  const present = existsSync(ENV_FILE) ? readFileSync(ENV_FILE, 'utf8') : '';
  if (clickhouse.url !== undefined || parseEnv(present).DATA_DIR) return undefined;
  const line = `DATA_DIR='${dataDir}'`;
  const file = resolve(ENV_FILE);
  try {
    appendFileSync(ENV_FILE, `${present === '' || present.endsWith('\n') ? '' : '\n'}${line}\n`);
  } catch (error) {
    // In a container the working directory is read-only. Key and token must be shown all the same.
    return `${file} cannot be written (${(error as NodeJS.ErrnoException).code}): set ${line} for later commands`;
  }
  return `${file} names the store from now on: ${line}`;
}

/** The address of the API, and of the collector, for programs on this machine. */
export function getAddresses({ host, port, publicPath, collector }: Config) {
  return {
    api: formatBaseUrl(host, port) + publicPath,
    collector: formatBaseUrl(host, collector.port),
    grpc: collector.grpcPort === null ? null : formatBaseUrl(host, collector.grpcPort),
  };
}

/** Variables of every OpenTelemetry SDK. The lines can be pasted into a shell. */
export function otelVariables(config: Config, writeToken: string): string[] {
  return [
    `export OTEL_EXPORTER_OTLP_ENDPOINT='${getAddresses(config).collector}'`,
    `export OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer ${writeToken}'`,
    `export OTEL_RESOURCE_ATTRIBUTES='deployment.environment.name=dev'`,
  ];
}

/** What to open and paste to see a first request. */
export function describeFirstSteps(config: Config, { team, app, key, writeToken }: FirstApp): string {
  const { api, collector, grpc } = getAddresses(config);
  return [
    '',
    `Created in ${describeStore(config)}: team ${team.id} ${JSON.stringify(team.name)}, app ${app.id} ${JSON.stringify(app.name)}.`,
    'The key and the token below are shown this once.',
    '',
    // In the fragment, because browsers do not send it.
    ...(config.dashboard ? [`  Dashboard    ${api}/#key=${key}`] : []),
    `  API key      ${key}`,
    `  Write token  ${writeToken}`,
    `  Collector    ${collector}`,
    '',
    'In the shell that starts your application:',
    '',
    `export API_KEY='${key}'`,
    ...otelVariables(config, writeToken),
    '',
    'An Express application (app.js), without a change to its code:',
    '',
    'npm install @opentelemetry/auto-instrumentations-node @opentelemetry/api',
    'node --require @opentelemetry/auto-instrumentations-node/register app.js',
    '',
    `A FastAPI application (main.py)${grpc === null ? '' : '; its SDK speaks gRPC by default'}:`,
    '',
    'pip install opentelemetry-distro opentelemetry-exporter-otlp opentelemetry-instrumentation-fastapi',
    grpc === null
      ? 'export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf'
      : `export OTEL_EXPORTER_OTLP_ENDPOINT='${grpc}'`,
    'opentelemetry-instrument uvicorn main:app',
    '',
    'An access log:',
    '',
    `${config.program} import access.log --app ${app.id}`,
    '',
  ].join('\n');
}
