import type { Api } from './api.js';
import { CopyButton, Text, readMeta } from './parts.js';
import { useSession, useTeam } from './session.js';

/** An app that never got data: how it gets some. */
export function EmptyApp() {
  const { app } = useSession();
  const port = readMeta('collector-port');
  const collector = port === '' ? 'COLLECTOR' : `http://${location.hostname}:${port}`;
  const library = `export APITALLY_HUB_BASE_URL=${collector}`;
  const code = `useApitally(app, { clientId: '${app.client_id}', env: 'prod', requestLogging: { enabled: true } });`;
  const token = `npm run -s cli -- write-token create --app ${app.id}`;
  const telemetry = [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${collector}`,
    `export OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer TOKEN'`,
    `export OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=prod`,
  ].join('\n');
  const command = `npm run -s cli -- import access.log.gz --app ${app.id}`;
  return (
    <main class="empty-state" id="main">
      <h1>
        <Text>{app.name}</Text> has no data yet
      </h1>
      <h2>Monitor a running application</h2>
      <p>
        Install the client library (<code>npm install apitally</code>, or that of another language), give it
        the address of your collector, and call it in your code.{' '}
        {port === ''
          ? 'The process that serves this page runs no collector, so write the address of yours, such as http://collector.example:3001, in the place of COLLECTOR:'
          : `The process that serves this page runs one on port ${port}; where a proxy or a container maps it, its address is another one:`}
      </p>
      <Command text={library} />
      <Command text={code} />
      <p>Its first data arrives within a minute, and this page shows it.</p>
      <h2>Or use an OpenTelemetry SDK</h2>
      <p>Create a token, and set these variables for your application:</p>
      <Command text={token} />
      <Command text={telemetry} />
      <h2>Or import what you have</h2>
      <p>An access log of nginx or Apache, or one JSON object per line:</p>
      <Command text={command} />
    </main>
  );
}

/** A team without an app. */
export function NoApps({ api }: { api: Api }) {
  const team = useTeam(api);
  return (
    <main class="empty-state" id="main">
      <h1>There is no app yet</h1>
      <p>This key’s team has no app. Create one where the service runs; this page shows it then:</p>
      <Command text={`npm run -s cli -- app create --team ${team?.id ?? '…'} --name "Shop API"`} />
    </main>
  );
}

function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <pre tabIndex={0}>
        <Text max={1000}>{text}</Text>
      </pre>
      <CopyButton text={text} label="Copy" />
    </div>
  );
}
