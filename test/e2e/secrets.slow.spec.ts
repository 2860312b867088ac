import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { Redis } from 'ioredis';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import { createApiKey, hashApiKey } from '../../src/access/keys/api-key.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { buildSync } from '../collector/setup/messages.js';
import { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import { runCommand } from '../setup/command.js';
import { type Prepared, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { type Ended, ProductProcess } from '../setup/product-process.js';
import { closeConnections, exchangeBytes, formatRequest, sendRaw } from '../setup/raw-http.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';
import { forbidInOutput } from '../setup/secrets/run.js';
import { SecretScanner } from '../setup/secrets/scanner.js';
import { TraceReceiver } from '../setup/trace-receiver.js';

const secret = () => randomBytes(24).toString('base64url');
const CONFIGURED = { store: secret(), redis: secret(), tokens: secret(), traces: secret() };
/** The tests' own store gets its password as an argument; it is no part of the product. */
const OF_THE_TESTS = 'clickhouse-server/main.ts';

describeWithRedisServer('keys, hashes and configured secrets', () => {
  const secrets = Object.values(CONFIGURED);
  const said: string[] = [];
  let server: ClickHouseServer;
  let redis: RedisServer;
  let receiver: TraceReceiver;
  let env: NodeJS.ProcessEnv;
  let prepared: Prepared;
  let store: ClickHouse;
  let admin: Admin;
  let service: ProductProcess;

  beforeAll(async () => {
    receiver = await TraceReceiver.start();
    redis = await RedisServer.start();
    // Not an argument: anybody could read it.
    const client = new Redis(redis.url);
    await client.config('SET', 'requirepass', CONFIGURED.redis).finally(() => {
      client.disconnect();
    });
    server = await ClickHouseServer.start({ user: 'reader', password: CONFIGURED.store });
    env = {
      CLICKHOUSE_URL: server.url,
      CLICKHOUSE_USER: server.user,
      CLICKHOUSE_PASSWORD: CONFIGURED.store,
      CLICKHOUSE_DATABASE: 'secrets',
      REDIS_URL: redis.url.replace('//', `//:${CONFIGURED.redis}@`),
      TOKEN_SECRET: CONFIGURED.tokens,
      LOG_LEVEL: 'trace',
      CACHE_TTL_MS: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${CONFIGURED.traces}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
    const empty = await ClickHouse.open(new Config(env), { database: '' });
    await empty.command('CREATE DATABASE secrets').finally(() => empty.close());
    prepared = await prepare(env);
    store = await ClickHouse.open(new Config(env));
    admin = createAdmin(store);
    const [kept] = await store.rows<{ value: string }>('test.secret', 'SELECT value FROM secrets_v1');
    secrets.push(kept!.value);
    note(prepared.key);
    forbidInOutput(...secrets);
    service = await ProductProcess.start(['serve'], env);
  });

  afterAll(async () => {
    closeConnections();
    await store.close();
    await server.stop();
    await redis.stop();
    await receiver.stop();
  });

  function note(key: string): string {
    secrets.push(key, hashApiKey(key));
    return key;
  }

  /** Holds that nothing of what was said has a secret in it. */
  function expectClean(...texts: readonly string[]) {
    expect(new SecretScanner(secrets).find(texts.join('\n'))).toEqual([]);
  }

  async function run(args: readonly string[]): Promise<Ended> {
    const ended = await ProductProcess.run(args, env);
    said.push(...ended.err);
    return ended;
  }

  async function call(path: string, headers: Record<string, string>, method = 'GET', body?: string) {
    const base = path.startsWith('/v2') ? service.collectorUrl : service.apiUrl;
    const response = await sendRaw(base, path, { method, headers, ...(body !== undefined && { body }) });
    said.push(`${JSON.stringify(response.headers)} ${response.text}`);
    return response.status;
  }

  it('are in no response, after any use of a key', async () => {
    const { key, teamId } = prepared;
    const revoked = await admin.keys.create(teamId);
    await admin.keys.revoke(revoked.identifier);
    const expired = await admin.keys.create(teamId, { expiresAt: Date.now() - 1 });
    const { id: free } = await admin.teams.create('Free', 'free');
    const unpaid = await admin.keys.create(free);
    const altered = `${key.slice(0, -3)}xyz`;
    for (const secret of [revoked.key, expired.key, unpaid.key, altered]) note(secret);
    const at = `/v1/apps/${prepared.appId}`;
    const asked: [number, string, Record<string, string>, string?, string?][] = [
      [200, '/v1/team', { 'Api-Key': key }],
      [200, `${at}/request-logs?limit=1`, { 'Api-Key': key }],
      [200, `${at}/endpoints?api_key=${key}&path=${key}`, { 'Api-Key': key }],
      [401, '/v1/team', { 'Api-Key': altered }],
      [401, '/v1/team', { 'Api-Key': revoked.key }],
      [401, '/v1/team', { 'Api-Key': expired.key }],
      [403, '/v1/team', { 'Api-Key': unpaid.key }],
      [401, '/v1/team', { 'Api-Key': `${key} ` + key }],
      [401, '/v1/team', { 'Api-Key': note(createApiKey()) }],
      [401, `/v1/team?api_key=${key}`, {}],
      [401, '/v1/team', { Authorization: `Bearer ${key}`, Cookie: `key=${key}` }],
      [404, `/v1/${key}`, { 'Api-Key': key }],
      [404, `/${key}`, {}],
      [405, '/v1/team', { 'Api-Key': key }, 'POST', key],
      [422, `${at}/traffic?interval=week`, { 'Api-Key': key }],
      [202, `/v2/${prepared.clientId}/prod/sync`, { 'Api-Key': key }, 'POST', JSON.stringify(buildSync())],
      [404, `/v2/${key}/prod/sync`, {}, 'POST', '{}'],
      [422, `/v2/${prepared.clientId}/prod/sync`, {}, 'POST', `{"${key}"`],
      [200, '/docs', { 'Api-Key': key }],
      [200, '/openapi.json', {}],
      [200, '/health/ready', {}],
    ];
    for (const [status, path, headers, method, body] of asked)
      expect([path, await call(path, headers, method, body)]).toEqual([path, status]);
    const broken = [
      formatRequest('/v1/team', { headers: { 'Api-Key': key, 'no colon\r\nx': '' } }),
      formatRequest(`/v1/team HTTP/9 ${key}`, { headers: { 'Api-Key': key } }),
      formatRequest('/v1/team', { headers: { 'Api-Key': key, Host: '', 'X-Long': 'x'.repeat(70_000) } }),
    ];
    for (const bytes of broken) said.push(await exchangeBytes(service.apiUrl, bytes, 10_000));
    expectClean(...said);
  });

  it('are not in the metrics, and not in the traces', async () => {
    const { text } = await sendRaw(service.metricsUrl, '/metrics');
    expect(text).toContain('request_analytics_http_request_duration_seconds_count');
    await eventually(() => receiver.text.includes('api_keys.find'));
    expect(receiver.sent[0]?.headers.authorization).toBe(CONFIGURED.traces);
    expectClean(text, receiver.text);
  });

  it('are in the arguments of no process, and a new key is said once, on standard output alone', async () => {
    const seen = new Set<string>();
    const look = setInterval(() => {
      for (const line of processes()) seen.add(line);
    }, 20);
    const created = await run(['key', 'create', '--team', String(prepared.teamId)]);
    const { key, identifier } = JSON.parse(created.out.join('')) as { key: string; identifier: string };
    note(key);
    const listed = await run(['key', 'list', '--team', String(prepared.teamId)]);
    const revoked = await run(['key', 'revoke', identifier]);
    clearInterval(look);
    expect(created.out.join('').split(key)).toHaveLength(2);
    expect([...seen].some((line) => line.includes('serve'))).toBe(true);
    expect([...seen].some((line) => line.includes(identifier))).toBe(true);
    expectClean(...created.err, ...listed.out, ...revoked.out, ...said, ...seen);
  });

  it('are not in what a command says that fails, also of a whole key where its public part belongs', async () => {
    const { key } = prepared;
    const team = String(prepared.teamId);
    const failed: [string[], NodeJS.ProcessEnv?][] = [
      [['key', 'revoke', key]],
      [['key', 'revoke', note(createApiKey())]],
      [['key', 'create', '--team', team], { CLICKHOUSE_PASSWORD: `${CONFIGURED.store}x` }],
      [['key', 'create', '--team', team], { CLICKHOUSE_URL: 'http://127.0.0.1:1' }],
      [['team', 'list'], { CLICKHOUSE_URL: `http//:${CONFIGURED.store}@localhost` }],
      [['team', 'list'], { REDIS_URL: `redis//:${CONFIGURED.redis}@localhost` }],
      [['team', 'list'], { DEMO_API_KEY: `${key}x` }],
      [['team', 'list'], { OTEL_EXPORTER_OTLP_ENDPOINT: `http//${CONFIGURED.traces}@localhost` }],
    ];
    for (const [args, more] of failed) {
      const ended = await runCommand(args, { ...env, ...more });
      said.push(...ended.err);
      expect([args, ended.code === 0]).toEqual([args, false]);
      expectClean(...ended.out, ...ended.err);
    }
  });

  it('are not in the log, with the store and Redis there, refusing and gone', async () => {
    const wrong = await ProductProcess.start(['serve'], {
      ...env,
      REDIS_URL: redis.url.replace('//', '//:not-the-password@'),
    });
    await sendRaw(wrong.apiUrl, '/v1/team', { headers: { 'Api-Key': prepared.key } });
    await eventually(() => wrong.written.includes('Redis unavailable'));
    await wrong.stop();
    await server.fail({ kind: 'exception', code: 241 });
    await call('/v1/team', { 'Api-Key': prepared.key });
    await server.heal();
    await redis.kill();
    await call('/v1/team', { 'Api-Key': prepared.key });
    await server.refuse();
    expect(await call('/v1/team', { 'Api-Key': prepared.key })).toBe(503);
    await server.accept();
    await service.stop();
    const line = service.log.find(({ route }) => route === '/v1/team');
    expect(line).toMatchObject({ key: prepared.key.slice(0, 7) });
    expect(service.written).not.toContain(prepared.clientId);
    expectClean(service.written, wrong.written);
  });
});

/** The arguments of every process of this machine that can be seen (Linux). */
function processes(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => readArguments(pid))
    .filter((line) => !line.includes(OF_THE_TESTS));
}

function readArguments(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
