import type { AddressInfo } from 'node:net';
import { runAll } from '../bootstrap/run.js';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { migrate } from '../clickhouse/migrations/migrate.js';
import type { Config } from '../config/config.js';
import { seedDemo } from '../demo/seed.js';
import { formatBaseUrl } from '../http/listen.js';
import { createDatabase } from './migrate.js';
import { printMessage } from './output.js';

/** Loads the sample data up to now, serves the API and the collector, and prints what to try on standard output. */
export async function demo(config: Config): Promise<void> {
  const sample = await loadSample(config);
  const server = await runAll('stderr');
  if (!server) return;
  const { port } = server.app.getHttpServer().address() as AddressInfo;
  const collector = formatBaseUrl(config.host, config.collector.port);
  process.stdout.write(
    welcome(sample, config, formatBaseUrl(config.host, port) + config.publicPath, collector),
  );
}

type Sample = Awaited<ReturnType<typeof seedDemo>>;

/** Only one client can open an embedded directory, so it is closed before the server opens it. */
async function loadSample(config: Config): Promise<Sample> {
  await createDatabase(config);
  const store = await ClickHouse.open(config);
  try {
    await migrate(store);
    printMessage('demo: loading the sample; the first time takes some seconds');
    return await seedDemo(store, config, Date.now(), (line) => {
      printMessage(`demo: ${line}`);
    });
  } finally {
    await store.close();
  }
}

/** The command lines can be pasted into a shell. */
function welcome(
  { key, appId, clientId, writeToken }: Sample,
  config: Config,
  url: string,
  collector: string,
): string {
  const curl = (path: string) => `curl -s -H 'Api-Key: ${key}' '${url}/v1/${path}'`;
  return [
    '',
    'The demo is running: team "Demo", app "Shop API".',
    '',
    // In the fragment, which browsers do not send.
    ...(config.dashboard ? [`  Dashboard  ${url}/#key=${key}`] : []),
    `  API key    ${key}`,
    `  Reference  ${url}/docs`,
    `  Collector  ${collector}`,
    '',
    'Try, in another shell:',
    '',
    curl('team'),
    curl(`apps/${appId}/request-logs?status_code=4xx,5xx&path=/v1/*&limit=5`),
    curl(`apps/${appId}/traffic?interval=day&timezone=Europe/Berlin`),
    '',
    'To monitor your own application with an OpenTelemetry SDK, set these in the shell that starts it:',
    '',
    `export OTEL_EXPORTER_OTLP_ENDPOINT='${collector}'`,
    `export OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer ${writeToken}'`,
    `export OTEL_RESOURCE_ATTRIBUTES='deployment.environment.name=dev'`,
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
