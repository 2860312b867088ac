import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { Config } from '../../src/config/config.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { DoctorRepository } from '../../src/ops/doctor/doctor.repository.js';
import { type CheckResult, checkStore } from '../../src/ops/doctor/doctor.js';
import { createWriteToken } from '../../src/access/tokens/write-token.js';
import { WITHOUT_CACHE } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { type Client, TestService } from './setup/collector.js';
import { GrpcSender, PATHS as PATHS_OF_GRPC } from './setup/grpc.js';
import { post } from './setup/post.js';

const PORT = '4711';
const COLLECTOR_PORT = '4712';
const CREATE = 'create one with request-analytics write-token create --app ID';

/** A sender at an address of its own, so that the lines of one test are not those of another. */
let address: string;
let number = 0;
let service: TestService;
let client: Client;
let lines: string[];

beforeAll(async () => {
  const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const env = { ...WITHOUT_CACHE, TRUST_PROXY: 'true', PORT, COLLECTOR_PORT, npm_lifecycle_event: undefined };
  service = await TestService.start(env, logger);
});

afterAll(() => service.stop());

beforeEach(async () => {
  lines = [];
  number += 1;
  address = `203.0.113.${number}`;
  client = await service.tenant();
});

const send = (url: string, headers: Record<string, string> = {}, from = address) =>
  post(url, '{}', { 'content-type': 'application/json', 'x-forwarded-for': from, ...headers });
const toCollector = (path: string, headers?: Record<string, string>, from?: string) =>
  send(service.collector.url + path, headers, from);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const logged = () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);

/** What `doctor` finds about the senders of this test. */
async function diagnose(): Promise<CheckResult[]> {
  const found: CheckResult[] = [];
  const repository = new DoctorRepository(service.api.store);
  for await (const result of checkStore(repository, service.api.app.get(Config))) {
    if (result.check === 'senders' && result.finding?.includes(` ${address} `)) found.push(result);
    if (result.check === 'rollups') break;
  }
  return found;
}

async function readRefusals({ tenant }: Client): Promise<Record<string, string>[]> {
  const url = `${service.api.url}/v1/apps/${tenant.appId}/refused-senders`;
  const response = await fetch(url, { headers: { 'api-key': tenant.key } });
  return ((await response.json()) as { data: Record<string, string>[] }).data;
}

const PATHS = ['/v1/traces', '/v1/metrics', '/v1/logs', '/v1/requests'];

describe.each(PATHS)('POST %s', (path) => {
  it.each<[string, () => Record<string, string>, string, string]>([
    [
      'no token',
      () => ({}),
      'it sent no write token',
      'set OTEL_EXPORTER_OTLP_HEADERS to authorization=Bearer apt_…',
    ],
    ['an unknown token', () => bearer(createWriteToken()), 'its write token is unknown', CREATE],
    ['another text', () => bearer('secret-of-another-service'), 'its write token is unknown', CREATE],
    [
      'an API key',
      () => bearer(client.tenant.key),
      'it sent an API key, which only reads, instead of a write token',
      CREATE,
    ],
    [
      'an API key in the header of the API',
      () => ({ 'api-key': client.tenant.key }),
      'it sent an API key, which only reads, instead of a write token',
      CREATE,
    ],
  ])('with %s is logged once, without what was sent', async (_, headers, reason, cure) => {
    const sent = headers();
    for (let times = 0; times < 3; times++) expect((await toCollector(path, sent)).status).toBe(401);
    expect(logged()).toEqual([`a sender at ${address} was refused at ${path}: ${reason}; ${cure}`]);
    for (const secret of Object.values(sent))
      expect(lines.join()).not.toContain(secret.replace('Bearer ', ''));
  });

  it('with a revoked token is logged with its app', async () => {
    const { token, identifier } = await service.api.admin.writeTokens.create(client.tenant.appId);
    await service.api.admin.writeTokens.revoke(client.tenant.appId, identifier);
    await toCollector(path, bearer(token));
    expect(logged()).toEqual([
      `a sender at ${address} was refused at ${path}: its write token was revoked (app ${client.tenant.appId}); ${CREATE}`,
    ]);
  });

  it('with an API key says that it is one', async () => {
    const { body } = await toCollector(path, bearer(client.tenant.key));
    expect(JSON.stringify(body)).toContain('This is an API key, which only reads');
    expect(JSON.stringify(body)).not.toContain(client.tenant.key);
  });

  it('at the port of the API names the port of the collector', async () => {
    for (const key of [{}, { 'api-key': client.tenant.key }] as Record<string, string>[]) {
      const { status, body } = await send(service.api.url + path, key);
      expect([status, body.detail]).toEqual([
        404,
        `This port serves the API and takes no data. Send to the collector: port ${COLLECTOR_PORT} (COLLECTOR_PORT)`,
      ]);
    }
  });
});

it('is found by doctor, each sender with its cure', async () => {
  for (const path of PATHS) {
    await toCollector(path, bearer(createWriteToken()));
    await send(service.api.url + path);
  }
  const found = await eventually(async () => {
    const results = await diagnose();
    return results.length === 2 * PATHS.length && results;
  });
  for (const path of PATHS)
    for (const [reason, cure] of [
      ['its write token is unknown', 'Create one with request-analytics write-token create --app ID.'],
      [
        'this port serves the API and takes no data',
        `Send to the collector, on port ${COLLECTOR_PORT} (COLLECTOR_PORT).`,
      ],
    ])
      expect(found).toContainEqual({
        check: 'senders',
        status: 'finding',
        finding: expect.stringMatching(
          new RegExp(`^a sender at ${address} was refused at ${path}, last at 2[-\\dT:]+Z: ${reason}$`),
        ) as string,
        cure,
      });
});

it('is shown to the dashboard without addresses, and of other teams only where no app is known', async () => {
  const other = await service.tenant();
  const { token, identifier } = await service.api.admin.writeTokens.create(client.tenant.appId);
  await service.api.admin.writeTokens.revoke(client.tenant.appId, identifier);
  await toCollector('/v1/metrics', bearer(token));
  await toCollector('/v1/logs');
  const revoked = {
    refused_at: expect.stringMatching(/^2[-\dT:]+Z$/) as string,
    route: '/v1/metrics',
    cause: 'revoked_token',
    reason: 'its write token was revoked',
    cure: CREATE,
  };
  const ofClient = await eventually(async () => {
    const all = await readRefusals(client);
    return all.some(({ cause }) => cause === 'revoked_token') && all;
  });
  expect(ofClient).toContainEqual(revoked);
  const ofOther = await readRefusals(other);
  expect(ofOther.map(({ cause }) => cause)).not.toContain('revoked_token');
  expect(ofOther.map(({ cause }) => cause)).toContain('no_token');
  expect(JSON.stringify([ofClient, ofOther])).not.toContain('203.0.113');
  const { key } = await service.api.admin.keys.create(client.tenant.teamId, {
    scopes: { ...ALL_SCOPES, consumer: 'acme' },
  });
  const scoped = await fetch(`${service.api.url}/v1/apps/${client.tenant.appId}/refused-senders`, {
    headers: { 'api-key': key },
  });
  expect([scoped.status, await scoped.json()]).toEqual([200, { data: [] }]);
});

it('reports an unknown client ID, which is not in the route', async () => {
  const id = randomUUID();
  expect((await toCollector(`/v2/${id}/prod/sync`)).status).toBe(404);
  expect(logged()).toEqual([
    `a sender at ${address} was refused at /v2/:client_id/:env/sync: its client ID is unknown; ` +
      'request-analytics app list --team ID has those of apps',
  ]);
  expect((await send(`${service.api.url}/v2/${id}/prod/sync`)).body.detail).toMatch(/port 4712/);
});

it.each(['traces', 'metrics', 'logs'] as const)(
  'reports a call of gRPC with %s and a wrong token',
  async (signal) => {
    const sender = new GrpcSender(service.collector.grpcAddress, createWriteToken());
    const { code } = await sender.send(signal, Buffer.alloc(0), { metadata: { 'x-forwarded-for': address } });
    sender.close();
    expect(code).toBe('UNAUTHENTICATED');
    expect(logged()).toEqual([
      `a sender at ${address} was refused at ${PATHS_OF_GRPC[signal]}: its write token is unknown; ${CREATE}`,
    ]);
  },
);

it('reports a sender that speaks gRPC to the port of HTTP', async () => {
  const socket = connect(Number(new URL(service.collector.url).port), '127.0.0.1');
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  await once(socket.resume(), 'close');
  expect(logged()).toEqual([
    'a sender at 127.0.0.1 was refused at the port of the collector: it speaks gRPC, and this port HTTP; ' +
      'set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf, or send to COLLECTOR_GRPC_PORT (4317)',
  ]);
});

it('reports a disabled app', async () => {
  await service.api.admin.apps.setDisabled(client.tenant.appId, true);
  expect((await toCollector(client.path('startup'))).status).toBe(403);
  expect(logged()).toEqual([expect.stringMatching(/: its app is disabled \(app \d+\); /)]);
});

it('says at the port of the collector where the API is', async () => {
  for (const path of ['/', '/docs', '/v1/team', '/v1/apps/1/traffic?limit=1']) {
    const response = await fetch(service.collector.url + path, { headers: { 'api-key': client.tenant.key } });
    expect([path, response.status, await response.json()]).toEqual([
      path,
      404,
      { detail: expect.stringContaining(`The API and the dashboard: port ${PORT} (PORT)`) as string },
    ]);
  }
});

it('is not flooded by a thousand addresses', async () => {
  const all = Array.from({ length: 1_000 }, (_, index) => `198.51.${index >> 8}.${index & 255}`);
  for (let first = 0; first < all.length; first += 50)
    await Promise.all(all.slice(first, first + 50).map((from) => toCollector('/v1/traces', {}, from)));
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.length).toBeLessThanOrEqual(200);
  const count = "SELECT toUInt32(count()) AS n FROM refused_senders_v1 WHERE startsWith(address, '198.51')";
  const stored = await eventually(async () => {
    const [row] = await service.api.store.rows<{ n: number }>('test.count', count);
    return row!.n > 0 && row!.n;
  });
  expect(stored).toBeLessThanOrEqual(200);
});
