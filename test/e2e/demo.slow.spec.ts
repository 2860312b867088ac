import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';

const TIMEOUT_MS = 90_000;
/** How long the client library may take to send what it has: it does so every ten seconds. */
const SENT_WITHIN_MS = 40_000;
/** In this time the live demo has a new request, also at night. */
const LIVE_MS = 30_000;
/** What stands in for curl and says what it was called with, an argument a line. */
const SHIM = `curl() { printf '%s\\n' "$@"; }`;

/** The built command, as people start it; `npm run test:all` builds first. */
describe('request-analytics demo', () => {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-demo-'));
  let demo: ProductProcess;
  let application: ChildProcess | undefined;

  const begin = async (...options: string[]) => {
    const env = { DATA_DIR: directory, HOST: '0.0.0.0', LOG_LEVEL: 'warn', RATE_LIMIT_PER_MINUTE: '1000000' };
    const started = await ProductProcess.begin(['demo', ...options], env);
    const isReady = () => started.out.some((line) => line.startsWith('curl '));
    await eventually(() => !started.isRunning || isReady(), TIMEOUT_MS);
    expect(started.err.join('\n')).not.toContain('rror');
    return started;
  };
  beforeAll(async () => {
    demo = await begin();
  }, TIMEOUT_MS);

  afterAll(async () => {
    application?.kill('SIGKILL');
    await ProductProcess.endAll();
    rmSync(directory, { recursive: true, force: true });
  });

  const lines = () => demo.out.filter((line) => line.startsWith('curl '));

  it('says on standard output what to try, and how the loading goes on standard error', () => {
    expect(lines()).toHaveLength(3);
    const output = demo.out.join('\n');
    expect(output).toMatch(/http:\/\/localhost:\d+\/docs/);
    const [, key] = /API key {4}(\S+)/.exec(output) ?? [];
    expect(output).toMatch(new RegExp(`Dashboard {2}http://localhost:\\d+/#key=${key}$`, 'm'));
    expect(output).not.toContain('loading');
    expect(demo.err.join('\n')).toContain('loading');
  });

  it('prints lines that a shell takes and the server accepts', async () => {
    const [team, logs, traffic] = await Promise.all(lines().map(fetchBody));
    expect(team).toEqual({ id: 1, name: 'Demo' });
    expect(logs.data).toHaveLength(5);
    expect(logs.data.every(({ status_code }: { status_code: number }) => status_code >= 400)).toBe(true);
    expect(traffic.data.length).toBeGreaterThanOrEqual(30);
  });

  it('has 13 months of traffic, some 20,000 requests of it in the last 15 days', async () => {
    const line = lines()[2]!;
    const year = await fetchBody(line.replace('interval=day', 'interval=day&limit=1000&start=2020-01-01'));
    expect(year.data.length).toBeGreaterThan(390);
    const days: { requests: number }[] = year.data.slice(-15);
    const requests = days.reduce((sum, day) => sum + day.requests, 0);
    expect(requests).toBeGreaterThan(17_000);
    expect(requests).toBeLessThan(22_000);
  });

  it('gets new requests while it runs', async () => {
    const since = new Date().toISOString();
    const line = lines()[1]!.replace(/request-logs[^']*/, `request-logs?start=${since}&limit=5`);
    await eventually(async () => {
      const { data } = (await fetchBody(line)) as { data: object[] };
      return data.length > 0;
    }, LIVE_MS);
  });

  it('has a rule that fires and one that does not, and tells nobody of them', async () => {
    const line = lines()[1]!.replace(/request-logs[^']*/, 'alerts');
    const alerts = await eventually(async () => {
      const { data } = (await fetchBody(line)) as { data: { since: string | null }[] };
      return data.length > 0 && data.every(({ since }) => since !== null) && data;
    }, LIVE_MS);
    expect(alerts).toMatchObject([
      { name: 'silence', state: 'ok', receivers: [] },
      { name: 'slow search', state: 'firing', receivers: [] },
    ]);
  });

  it('prints two lines with which an application is monitored by the client library', async () => {
    const [shell] = demo.out.filter((line) => line.startsWith('export APITALLY_'));
    const [code] = demo.out.filter((line) => line.startsWith('useApitally('));
    const program = `
      const app = require('express')();
      const { useApitally } = require('apitally/express');
      ${code}
      app.get('/new/:id', (request, response) => response.send('new'));
      const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
    application = spawn('sh', ['-c', `${shell}\nexec node -e "$PROGRAM"`], {
      // The library keeps its files there.
      env: { PATH: process.env.PATH, TMPDIR: directory, PROGRAM: program },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [port] = (await once(application.stdout!, 'data')) as [Buffer];
    expect((await fetch(`http://127.0.0.1:${String(port).trim()}/new/7`)).status).toBe(200);
    const line = lines()[1]!.replace(/request-logs[^']*/, 'request-logs?path=/new/*');
    const [log] = await eventually(async () => {
      const { data } = (await fetchBody(line)) as { data: object[] };
      return data.length > 0 && data;
    }, SENT_WITHIN_MS);
    expect(log).toMatchObject({ method: 'GET', path: '/new/{id}', env: 'dev', status_code: 200 });
  });

  it('prints three variables with which an OpenTelemetry SDK sends', async () => {
    const variables = Object.fromEntries(
      [...demo.out.join('\n').matchAll(/^export (OTEL_\w+)='(.+)'$/gm)].map(([, name, value]) => [
        name,
        value,
      ]),
    ) as Record<string, string>;
    const [, authorization = ''] = variables.OTEL_EXPORTER_OTLP_HEADERS!.split('authorization=');
    const response = await fetch(`${variables.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(response.status).toBe(200);
    expect(variables.OTEL_RESOURCE_ATTRIBUTES).toBe('deployment.environment.name=dev');
  });

  it('exits with 0 when it is stopped', async () => {
    expect(await demo.stop()).toBe(0);
  });

  it('gets none with --no-live', async () => {
    if (demo.isRunning) await demo.stop();
    demo = await begin('--no-live');
    const since = new Date().toISOString();
    await pause(LIVE_MS);
    const line = lines()[1]!.replace(/request-logs[^']*/, `request-logs?start=${since}&limit=5`);
    expect((await fetchBody(line)).data).toEqual([]);
  });
});

/** What the server says to a curl line as a shell reads it. */
// The responses' shape is what the tests are about.
// oxlint-disable-next-line typescript/no-explicit-any
async function fetchBody(line: string): Promise<any> {
  const words = execFileSync('sh', ['-c', `${SHIM}\n${line}`], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');
  const [silent, flag, header = '', url = '', ...rest] = words;
  expect([silent, flag, rest]).toEqual(['-s', '-H', []]);
  const [name = '', value = ''] = header.split(': ');
  const answer = await fetch(url, { headers: { [name]: value } });
  expect(answer.status).toBe(200);
  return answer.json();
}
