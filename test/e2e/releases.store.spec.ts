import { randomUUID } from 'node:crypto';
import type { Release } from '../../src/api/releases/releases.dto.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { NIL_UUID } from '../../src/shared/nil-uuid.js';
import { type Client, TestService } from '../collector/setup/collector.js';
import { buildCount, buildSync } from '../collector/setup/messages.js';
import { OtlpSender, resource, serverSpan, traces } from '../collector/setup/otlp.js';
import { writeReports } from '../setup/instance-reports.js';
import type { Query } from '../setup/tenant.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const iso = (epochMs: number) => new Date(epochMs).toISOString();

describe('GET /v1/apps/{app_id}/releases', () => {
  let service: TestService;
  let client: Client;
  const [firstUuid, secondUuid] = [randomUUID(), randomUUID()];
  const start = Math.floor(Date.now() / MINUTE) * MINUTE - 3 * DAY;

  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    client = await service.tenant();
  });

  const list = async (query: Query = {}) => (await client.tenant.page<Release>('releases', query)).data;
  /** Reports in the environment prod, by minutes after the start: the process, its version or none. */
  const report = async (...reports: [minute: number, instance: string, version?: string][]) => {
    const app_env_id = await ensureEnv();
    await writeReports(
      service.api,
      reports.map(([minute, instance_uuid, app_version = '']) => ({
        app_id: client.tenant.appId,
        app_env_id,
        at: start + minute * MINUTE,
        instance_uuid,
        app_version,
      })),
    );
  };
  const ensureEnv = async (env = 'prod') => {
    await client.tenant.write({ env, timestamp: start });
    return client.tenant.envId(env);
  };
  const release = (version: string, first: number, last: number, instances: number, env = 'prod') => ({
    version,
    env,
    first_seen: iso(start + first * MINUTE),
    last_seen: iso(start + last * MINUTE),
    instances,
  });

  it('has the versions that a client library and OpenTelemetry send, by environment', async () => {
    const message = { message_uuid: randomUUID(), client: 'js:express' };
    await client.send('startup', { ...message, instance_uuid: firstUuid, versions: { app: '1.2.3' } });
    await client.send('sync', buildSync({ instance_uuid: firstUuid, requests: [buildCount()] }));
    const sender = await OtlpSender.create(service, client);
    const of = resource({ 'service.instance.id': secondUuid, 'service.version': '2.0.0' });
    await sender.deliver('traces', traces([serverSpan()], { of }));
    const releases = await list();
    expect(releases).toMatchObject([
      { version: '2.0.0', env: 'default', instances: 1 },
      { version: '1.2.3', env: 'prod', instances: 1 },
    ]);
    const [, { first_seen, last_seen }] = releases as [Release, Release];
    expect(Date.parse(last_seen)).toBeGreaterThanOrEqual(Date.parse(first_seen));
  });

  it('counts reports without a version for the one that the process started with last', async () => {
    await report(
      [0, firstUuid, '1'],
      [5, firstUuid],
      [10, firstUuid, '2'],
      [30, firstUuid],
      [40, secondUuid, '2'],
      [41, secondUuid],
    );
    // Processes without an ID may be others than those with a version.
    await report([2, NIL_UUID, '1'], [90, NIL_UUID]);
    expect(await list()).toEqual([release('2', 10, 41, 2), release('1', 0, 10, 2)]);
  });

  it('has marks: of versions that nothing reports, and earlier begins of those that processes do', async () => {
    await report([60, firstUuid, '2'], [70, firstUuid, '2'], [80, secondUuid, '3']);
    await ensureEnv('test');
    const { appId } = client.tenant;
    const at = (minute: number) => ({ at: start + minute * MINUTE });
    await service.api.admin.releases.mark(appId, '1', { env: 'prod', ...at(5) });
    // A second mark moves the first one.
    expect(await service.api.admin.releases.mark(appId, ' 1 ', { env: 'prod', ...at(20) })).toEqual([
      { version: '1', env: 'prod', released_at: iso(start + 20 * MINUTE) },
    ]);
    await service.api.admin.releases.mark(appId, '2', at(30));
    expect(await service.api.admin.releases.mark(appId, '9', at(100))).toHaveLength(2);
    await service.api.admin.releases.unmark(appId, '9', { env: 'test' });
    expect(await list()).toEqual([
      release('9', 100, 100, 0),
      release('3', 80, 80, 1),
      release('2', 30, 30, 0, 'test'),
      release('2', 30, 70, 1),
      release('1', 20, 20, 0),
    ]);
    expect((await service.api.admin.releases.list(appId)).map(({ version, env }) => [version, env])).toEqual([
      ['1', 'prod'],
      ['2', 'prod'],
      ['2', 'test'],
      ['9', 'prod'],
    ]);
    const refused = (work: Promise<unknown>, reason: RegExp) => expect(work).rejects.toThrow(reason);
    await refused(
      service.api.admin.releases.mark(appId, '1', { env: 'staging' }),
      /no environment staging; it has prod, test/,
    );
    await refused(service.api.admin.releases.mark(appId, '  '), /1 to 128 characters/);
    await refused(service.api.admin.releases.mark(appId, 'x'.repeat(129)), /1 to 128 characters/);
    await refused(service.api.admin.releases.mark(appId, '1', { at: Date.now() + MINUTE }), /future/);
    await refused(service.api.admin.releases.unmark(appId, '7'), /no such mark/);
    await refused(
      service.api.admin.releases.mark((await client.tenant.sibling()).appId, '1'),
      /no environment yet/,
    );
    await refused(service.api.admin.releases.list(999_999), /no app 999999/);
  });

  it('has releases that began in the window, of one environment', async () => {
    await report([0, firstUuid, '1'], [60, firstUuid, '1'], [120, secondUuid, '2']);
    const test = await ensureEnv('test');
    await service.api.admin.releases.mark(client.tenant.appId, '3', {
      env: 'test',
      at: start + 200 * MINUTE,
    });
    const versions = async (query: Query) => (await list(query)).map(({ version }) => version);
    const at = (minute: number) => iso(start + minute * MINUTE);
    expect(await versions({ start: at(1) })).toEqual(['3', '2']);
    expect(await versions({ start: at(0), end: at(120) })).toEqual(['1']);
    expect(await versions({ app_env_id: test })).toEqual(['3']);
    expect(await versions({ app_env_id: 77 })).toEqual([]);
    expect(await versions({ start: '2020-01-01', end: '2020-01-02' })).toEqual([]);
  });

  it('is paged: each release once, in one order, though processes report in between', async () => {
    // Several began at the same time.
    for (let n = 0; n < 9; n++) await report([n - (n % 3), randomUUID(), `v${n}`]);
    const whole = await list();
    expect(whole).toHaveLength(9);
    const paged = await client.tenant.readAllPages<Release>('releases', {}, async (page) => {
      await report([1000 + page, randomUUID(), `v${page}`]);
      return (page % 3) + 1;
    });
    expect(paged.map(({ version }) => version)).toEqual(whole.map(({ version }) => version));
  });

  it('names 4,999 versions of 128 characters in metrics, and refuses more with a reason', async () => {
    const [app_env_id, job] = [await ensureEnv(), await ensureEnv('job')];
    const versions = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => ({
        app_id: client.tenant.appId,
        app_env_id,
        at: start + (from + index) * MINUTE * 0.8,
        instance_uuid: randomUUID(),
        app_version: `${from + index}`.padEnd(128, '版'),
      }));
    await writeReports(service.api, versions(0, 4_999));
    const query = {
      since: iso(start),
      group_by: ['app_version'],
      metrics: ['requests', 'response_time_p95'],
    };
    const of = (filters: object[] = []) => client.tenant.post('metrics', { ...query, filters });
    expect((await of()).status).toBe(200);
    const filter = { field: 'app_version', op: 'not_contains', value: '版' };
    const { status, text } = await of([
      filter,
      { ...filter, op: 'neq' },
      { ...filter, op: 'is_null', value: undefined },
    ]);
    expect([status, text]).toEqual([200, expect.stringContaining('"requests":2')]);
    // Thousands of short processes with one version after another are no more than its beginning and its end.
    await writeReports(
      service.api,
      versions(5_000, 25_000).map((report) => ({
        ...report,
        app_env_id: job,
        at: report.at - 10 * DAY,
        app_version: '1',
      })),
    );
    expect((await of()).status).toBe(200);
    await writeReports(service.api, versions(5_000, 5_001));
    const refused = await of();
    expect([refused.status, refused.body.detail[0].msg]).toEqual([
      422,
      expect.stringContaining('app_version'),
    ]);
    expect((await client.tenant.post('metrics', { ...query, group_by: ['env'] })).status).toBe(200);
    expect(await list({ limit: 1000 })).toHaveLength(1000);
  }, 60_000);

  it('has nothing of other apps, and nothing for a key of one consumer', async () => {
    await report([0, firstUuid, '1']);
    const other = await service.tenant();
    expect((await other.tenant.page('releases')).data).toEqual([]);
    const path = `/v1/apps/${client.tenant.appId}/releases`;
    expect((await service.api.get(path, other.tenant.key)).status).toBe(404);
    const { key } = await service.api.admin.keys.create(client.tenant.teamId, {
      scopes: { ...ALL_SCOPES, appIds: [client.tenant.appId], consumer: 'ann' },
    });
    const { status, body } = await service.api.get(path, key);
    expect([status, body]).toEqual([200, { data: [], has_more: false }]);
    const changes = `/v1/apps/${client.tenant.appId}/changes`;
    const since = await service.api.post(changes, key, { measure: 'requests', since_release: '1' });
    expect([since.status, since.body.detail[0].loc]).toEqual([422, ['body', 'since_release']]);
  });

  it.each([
    [{ limit: 1001 }, 'limit'],
    [{ start: 'yesterday-ish' }, 'start'],
    [{ start: '2026-11-02', end: '2026-11-01' }, 'start'],
    [{ next_token: 'x' }, 'next_token'],
  ])('answers 422 to %j', async (query: Query, member) => {
    const { status, body } = await client.tenant.get('releases', query);
    expect([status, body.detail[0].loc]).toEqual([422, ['query', member]]);
  });
});
