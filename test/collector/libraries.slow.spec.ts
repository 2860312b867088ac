import { eventually } from '../setup/eventually.js';
import type { ConsumerBody, LogBody, TrafficBody } from '../setup/tenant.js';
import { type Client, TestService } from './setup/collector.js';
import { type Call, SampleApp } from './setup/sample-app.js';

/** How long a library may take to send what it has: it does so every ten seconds. */
const SENT_WITHIN_MS = 90_000;
const ENV = 'staging';

const ALICE = { 'x-consumer': 'alice|Alice A.|Admins' };
const BOB = { 'x-consumer': 'bob||Users' };
const CAROL = { 'x-consumer': 'carol' };
const SECRETS = {
  authorization: 'Bearer s3cret',
  'x-api-key': 's3cret',
  'x-forwarded-for': '10.0.0.1, 8.8.8.8',
};

const NOWHERE = '/v1/nowhere';

/** What is asked of each application, and how it responds. */
const CALLS: (Call & { status: number; times?: number })[] = [
  { path: '/v1/users/7?token=s3cret&x=1', headers: { ...ALICE, ...SECRETS }, status: 200 },
  { path: '/v1/users/8', headers: ALICE, status: 200, times: 4 },
  { path: '/v1/users/9', headers: BOB, status: 200, times: 3 },
  { path: '/v1/users/9', status: 200, times: 2 },
  {
    method: 'POST',
    path: '/v1/users',
    headers: CAROL,
    body: { name: 'Dave', password: 's3cret' },
    status: 201,
  },
  { method: 'POST', path: '/v1/users', headers: BOB, body: { nome: 'Dave' }, status: 422 },
  { method: 'POST', path: '/v1/files', body: { text: 'x'.repeat(60_000) }, status: 201 },
  { path: '/v1/boom', headers: ALICE, status: 500 },
  { path: '/health', status: 200, times: 5 },
  { path: NOWHERE, status: 404 },
];
/** Requests to routes; what meets no route the library logs and does not count. */
const COUNTED = 20 - 1;
const LOGGED = 20 - 5;

/** An application that was asked all of it, and what the service has of it. */
interface Monitored {
  sample: SampleApp;
  client: Client;
  /** Bytes of all responses that routes gave. */
  bytesSent: number;
}

let service: TestService;
const startedAt = Date.now();
const monitored = new Map<string, Monitored>();

beforeAll(async () => {
  service = await TestService.start();
  const names = ['express-app', 'nest-app'];
  for (const name of names) monitored.set(name, await start(name));
  await Promise.all([...monitored.values()].map(run));
});

afterAll(async () => {
  for (const { sample } of monitored.values()) await sample.stop();
  await service.stop();
});

async function start(name: string): Promise<Monitored> {
  const client = await service.tenant();
  const env = { CLIENT_ID: client.clientId, APP_ENV: ENV, APITALLY_HUB_BASE_URL: service.collector.url };
  return { client, bytesSent: 0, sample: await SampleApp.start(name, env) };
}

async function run(monitored: Monitored) {
  const { sample, client } = monitored;
  for (const { status, times = 1, ...call } of CALLS)
    for (let time = 0; time < times; time++) {
      const response = await sample.call(call);
      expect([call.path, response.status]).toEqual([call.path, status]);
      if (call.path !== NOWHERE) monitored.bytesSent += response.bytes;
    }
  await eventually(async () => {
    const { data } = await client.tenant.logs({ limit: 1000 });
    return data.length >= LOGGED && sum((await client.tenant.traffic()).data, 'requests') >= COUNTED;
  }, SENT_WITHIN_MS);
}

function sum(periods: TrafficBody[], field: 'requests' | 'bytes_received' | 'bytes_sent') {
  return periods.reduce((total, period) => total + period[field], 0);
}

describe.each([
  { app: 'express-app', logger: 'console', levels: ['log', 'info'] },
  { app: 'nest-app', logger: 'Users', levels: ['log', 'warn'] },
])('an application with the unmodified client library: $app', ({ app, logger, levels }) => {
  const users = '/v1/users/{userId}';
  let client: Client;

  beforeAll(() => {
    client = monitored.get(app)!.client;
  });

  const logs = async (query = {}) => (await client.tenant.logs({ limit: 1000, ...query })).data;
  const traffic = async (query = {}) => (await client.tenant.traffic(query)).data;
  const counted = async (query = {}) => sum(await traffic(query), 'requests');
  const details = async (query: Record<string, string>) => {
    const [{ request_uuid }] = (await logs(query)) as [LogBody];
    return (await client.tenant.get(`request-logs/${request_uuid}`)).body;
  };

  it('is seen with its framework and its environment', async () => {
    const { body } = await service.api.get('/v1/apps', client.tenant.key);
    expect(body.data[0]).toMatchObject({ framework: 'express', envs: [{ name: ENV }] });
    expect(Date.parse(body.data[0].envs[0].last_sync_at)).toBeGreaterThanOrEqual(startedAt);
    const team = await service.api.get('/v1/team', client.tenant.key);
    expect(team.status).toBe(200);
  });

  it('has all its endpoints, each once, parameters in braces', async () => {
    const { data } = (await client.tenant.get('endpoints')).body;
    const endpoints = data.map(({ method, path }: LogBody) => `${method} ${path}`);
    expect(endpoints).toEqual(
      expect.arrayContaining([
        'GET /health',
        'GET /v1/boom',
        'POST /v1/files',
        'POST /v1/users',
        `GET ${users}`,
      ]),
    );
    expect(new Set(endpoints).size).toBe(endpoints.length);
  });

  it('has its consumers with their names and groups', async () => {
    const { data } = await client.tenant.consumers();
    const seen = data.map(({ identifier, name, group }: ConsumerBody) => [
      identifier,
      name,
      group?.name ?? null,
    ]);
    expect(seen.sort()).toEqual([
      ['alice', 'Alice A.', 'Admins'],
      ['bob', 'bob', 'Users'],
      ['carol', 'carol', null],
    ]);
  });

  it('has exact counts in traffic: in all, by environment and by consumer, health checks included', async () => {
    expect(await counted()).toBe(COUNTED);
    expect(await counted({ app_env_id: await client.tenant.envId(ENV) })).toBe(COUNTED);
    for (const [identifier, requests] of [
      ['alice', 6],
      ['bob', 4],
      ['carol', 1],
    ] as const)
      expect([
        identifier,
        await counted({ consumer_id: await client.tenant.consumerId(identifier) }),
      ]).toEqual([identifier, requests]);
    const received = CALLS.map(({ body }) => (body ? JSON.stringify(body).length : 0));
    expect(sum(await traffic(), 'bytes_received')).toBe(received.reduce((total, bytes) => total + bytes, 0));
    expect(sum(await traffic(), 'bytes_sent')).toBe(monitored.get(app)!.bytesSent);
  });

  it('has every request in the logs but the health checks, and one that met no route without a path', async () => {
    const all = await logs();
    expect(all).toHaveLength(LOGGED);
    expect(all.filter(({ url }) => url.endsWith('/health'))).toEqual([]);
    expect(all.filter(({ path }) => path === null).map(({ status_code }) => status_code)).toEqual([404]);
    expect(await logs({ path: users })).toHaveLength(10);
    expect(await logs({ status_code: '4xx' })).toHaveLength(2);
  });

  it('returns the client address of the proxy headers, and its country', async () => {
    const [first] = (await logs({ path: users, consumer_id: await client.tenant.consumerId('alice') })).slice(
      -1,
    );
    expect(first).toMatchObject({ client_ip: '8.8.8.8', client_country_iso_code: 'US' });
  });

  it('has masked values masked, in the URL, in headers and in bodies', async () => {
    const [oldest] = (await logs({ path: users })).slice(-1);
    const { body } = await client.tenant.get(`request-logs/${oldest!.request_uuid}`);
    expect(body.url).toContain('token=******');
    expect(body.request_headers).toEqual(
      expect.arrayContaining([
        ['authorization', '******'],
        ['x-api-key', '******'],
      ]),
    );
    expect(JSON.parse(body.response_body_json)).toEqual({ id: '7', password: '******' });
    const created = await details({ method: 'POST', path: '/v1/users', status_code: '201' });
    expect(JSON.parse(created.request_body_json)).toEqual({ name: 'Dave', password: '******' });
    expect(JSON.stringify([body, created])).not.toContain('s3cret');
  });

  it('has an unhandled exception with its stack', async () => {
    const { exception, status_code } = await details({ path: '/v1/boom' });
    expect(status_code).toBe(500);
    expect(exception).toMatchObject({
      type: 'TypeError',
      message: expect.stringContaining('application failed'),
    });
    expect(exception.stacktrace).toMatch(/^TypeError: .*\n\s+at .*-app\.ts/);
  });

  it('has application logs and spans attached to their request', async () => {
    const found = await details({ path: users });
    expect(found.logs.map(({ level }: { level: string }) => level)).toEqual(levels);
    expect(found.logs[0]).toMatchObject({ message: expect.stringMatching(/^looking for user \d$/), logger });
    expect(found.trace_id).toMatch(/^[0-9a-f]{32}$/);
    const [inner, root] = found.spans;
    expect(inner).toMatchObject({
      name: 'SELECT users',
      kind: 'INTERNAL',
      attributes: { rows: 3, ratio: 0.5 },
    });
    expect(inner.parent_span_id).toBe(root.span_id);
    expect(root.name).toContain('GET');
    const { text } = await client.tenant.post('traces', {
      fields: ['parent_span_id', 'env', 'name', 'kind', 'duration_ns', 'attributes'],
      filters: [{ field: 'trace_id', op: 'eq', value: found.trace_id }],
    });
    const spans = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { span_id: string });
    expect(spans).toHaveLength(found.spans.length);
    const { span_id, parent_span_id, name, kind, attributes } = inner;
    expect(spans.find((span) => span.span_id === span_id)).toMatchObject({
      ...{ trace_id: found.trace_id, parent_span_id, name, kind, attributes, env: 'staging' },
    });
  });

  it('has a body over the limit replaced by what the library says of it', async () => {
    const { request_body_json } = await details({ path: '/v1/files' });
    expect(request_body_json).toBe('"<body too large>"');
  });
});
