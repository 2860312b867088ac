import { useEffect, useState } from 'preact/hooks';
import type { Api, Refusal } from './api.js';
import { CopyButton, Text, readMeta } from './parts.js';
import { useSession, useTeam, useWhileVisible } from './session.js';
import { formatTime } from './time.js';

const REFUSALS_MS = 10_000;

/** An app that never received data: explains how to send some. */
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
  const python = 'export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf';
  const command = `npm run -s cli -- import access.log.gz --app ${app.id}`;
  return (
    <main class="empty-state" id="main">
      <h1>
        <Text>{app.name}</Text> has no data yet
      </h1>
      <Refusals />
      <h2>Monitor a running application</h2>
      <p>
        Every OpenTelemetry SDK, in any language, sends to the collector. This creates a write token, which
        goes in the place of TOKEN:
      </p>
      <Command text={token} />
      <p>
        Set these variables for your application.{' '}
        {port === ''
          ? 'The process that serves this page runs no collector (COLLECTOR=off), so write the address of yours, such as http://collector.example:3001, in the place of COLLECTOR:'
          : `The process that serves this page runs a collector on port ${port}; where a proxy or a container maps it, its address is another one:`}
      </p>
      <Command text={telemetry} />
      <p>
        Python’s SDK speaks gRPC by default, which has a port of its own (4317). With this variable it speaks
        HTTP:
      </p>
      <Command text={python} />
      <p>The first requests arrive within a minute, and this page shows them.</p>
      <h2>Or use an apitally client library of version 0</h2>
      <p>
        For JavaScript: <code>npm install apitally</code>, the address of the collector, and a call in your
        code:
      </p>
      <Command text={library} />
      <Command text={code} />
      <h2>Or import what you have</h2>
      <p>An access log of nginx or Apache, or one JSON object per line:</p>
      <Command text={command} />
    </main>
  );
}

/** Senders that the service refused: SDKs do not say so themselves. */
function Refusals() {
  const { api, app, state } = useSession();
  const [refusals, setRefusals] = useState<Refusal[]>([]);
  const load = () => {
    // Without them the page is as useful as before; the list of apps reports what is wrong.
    api.refusals(app.id).then(setRefusals, () => undefined);
  };
  useEffect(load, [api, app.id]);
  useWhileVisible(REFUSALS_MS, true, load);
  return (
    <div role="status">
      {refusals.length > 0 && (
        <>
          <h2>Senders were refused</h2>
          <p>
            Somebody, perhaps your application, sent data in the last 15 minutes that the service refused:
          </p>
          <ul>
            {refusals.map(({ refused_at, route, cause, reason, cure }) => (
              <li key={`${route} ${cause}`}>
                {formatTime(Date.parse(refused_at), 'time', state.zone)}, <code>{route}</code>: {reason};{' '}
                {cure}.
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
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
