import { CopyButton, Text } from './parts.js';
import { useSession } from './session.js';

/** An app that never got data: how it gets some. */
export function EmptyApp() {
  const { app } = useSession();
  const collector = `export APITALLY_HUB_BASE_URL=http://${location.hostname}:3001`;
  const code = `useApitally(app, { clientId: '${app.client_id}', env: 'prod', requestLogging: { enabled: true } });`;
  const command = `npm run -s cli -- import access.log.gz --app ${app.id}`;
  return (
    <main class="empty-state" id="main">
      <h1>
        <Text>{app.name}</Text> has no data yet
      </h1>
      <h2>Monitor a running application</h2>
      <p>
        Install the client library (<code>npm install apitally</code>, or that of another language), give it
        the address of your collector, and call it in your code:
      </p>
      <Command text={collector} />
      <Command text={code} />
      <p>Its first data arrives within a minute. This page shows it after a reload.</p>
      <h2>Or import what you have</h2>
      <p>An access log of nginx or Apache, or one JSON object per line:</p>
      <Command text={command} />
      <p class="muted">With the embedded engine, stop the service while the import runs.</p>
    </main>
  );
}

/** A team without an app. */
export function NoApps() {
  return (
    <main class="empty-state" id="main">
      <h1>There is no app yet</h1>
      <p>This key’s team has no app. Create one where the service runs, with the ID of your team:</p>
      <Command text={'npm run -s cli -- app create --team 1 --name "Shop API"'} />
      <p>Then reload this page.</p>
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
