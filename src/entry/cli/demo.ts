import { getAddresses, otelVariables } from '../bootstrap/first-steps.js';
import { runServer } from '../bootstrap/run.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { migrate } from '../../store/migrations/migrate.js';
import { Config, ConfigError } from '../../config/config.js';
import { seedDemo } from '../demo/seed.js';
import { startTrickle } from '../demo/trickle.js';
import { requireFreePort } from '../../platform/http/listen.js';
import { createDatabase } from './migrate.js';
import { printMessage } from './output.js';

/** Number of further ports that are tried after a taken one. */
const MAX_PORTS = 100;

/**
 * Loads the sample data up to now, serves the API and the collector, and prints examples to try on standard
 * output.
 *
 * @param isLive whether new requests arrive while it runs
 */
export async function demo({ live: isLive }: { live: boolean }): Promise<void> {
  const config = new Config({ ...process.env, ...(await chooseFreePorts()) });
  const now = Date.now();
  const sample = await loadSample(config, now);
  const server = await runServer('stderr', config);
  if (!server) return;
  process.stdout.write(welcome(sample, config));
  if (isLive && config.collector.isBesideApi)
    startTrickle({ ...sample, collector: getAddresses(config).collector, since: now });
}

/** Takes the next free ports: people who try the demo often have another program on port 3000. */
async function chooseFreePorts(): Promise<Record<string, string>> {
  const { host, port, collector } = new Config();
  const taken = new Set<number>();
  const chosen: Record<string, string> = {};
  for (const [variable, first] of [
    ['PORT', port],
    ['COLLECTOR_PORT', collector.port],
    ['COLLECTOR_GRPC_PORT', collector.grpcPort],
  ] as const) {
    if (first === null) continue;
    const free = await findFreePort(variable, first, host, taken);
    taken.add(free);
    if (free === first) continue;
    printMessage(`demo: port ${first} is taken, so ${variable} is ${free}`);
    chosen[variable] = String(free);
  }
  return chosen;
}

/** @throws the error of `listen` for the first port if no port is free */
async function findFreePort(variable: string, first: number, host: string, taken: ReadonlySet<number>) {
  let failure: unknown;
  for (let port = first; port < first + MAX_PORTS; port++) {
    try {
      if (taken.has(port)) continue;
      await requireFreePort(variable, port, host);
      return port;
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

type Sample = Awaited<ReturnType<typeof seedDemo>>;

/** Only one client can open an embedded directory, so it is closed before the server opens it. */
async function loadSample(config: Config, now: number): Promise<Sample> {
  await createDatabase(config);
  const store = await ClickHouse.open(config);
  try {
    await migrate(store);
    printMessage('demo: loading the sample; the first time takes some seconds');
    return await seedDemo(store, config, now, (line) => {
      printMessage(`demo: ${line}`);
    });
  } finally {
    await store.close();
  }
}

/** The command lines can be pasted into a shell. */
function welcome({ key, appId, clientId, writeToken }: Sample, config: Config): string {
  const { api: url, collector } = getAddresses(config);
  const curl = (path: string) => `curl -s -H 'Api-Key: ${key}' '${url}/v1/${path}'`;
  return [
    '',
    'The demo is running: team "Demo", app "Shop API".',
    '',
    // In the fragment, because browsers do not send it.
    ...(config.dashboard ? [`  Dashboard  ${url}/#key=${key}`] : []),
    `  API key    ${key}`,
    `  Reference  ${url}/docs`,
    `  Collector  ${collector}`,
    '',
    'Try, in another shell:',
    '',
    `export API_KEY='${key}'`,
    curl('team'),
    curl(`apps/${appId}/request-logs?status_code=4xx,5xx&path=/v1/*&limit=5`),
    curl(`apps/${appId}/traffic?interval=day&timezone=Europe/Berlin`),
    '',
    'To monitor your own application with an OpenTelemetry SDK, set these in the shell that starts it:',
    '',
    ...otelVariables(config, writeToken),
    '',
    'To monitor an Express application with a client library (npm install apitally), set this:',
    '',
    `export APITALLY_HUB_BASE_URL='${collector}'`,
    '',
    "and in its code, after const { useApitally } = require('apitally/express'):",
    '',
    `useApitally(app, { clientId: '${clientId}', env: 'dev', requestLogging: { enabled: true } });`,
    '',
    'Ctrl+C stops it.',
    '',
  ].join('\n');
}
