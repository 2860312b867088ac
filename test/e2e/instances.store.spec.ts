import { randomUUID } from 'node:crypto';
import type { Instance } from '../../src/api/instances/instances.dto.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { NIL_UUID } from '../../src/shared/nil-uuid.js';
import { type Client, TestService } from '../collector/setup/collector.js';
import { buildCount, buildSync } from '../collector/setup/messages.js';
import { OtlpSender, resource, serverSpan, traces } from '../collector/setup/otlp.js';
import { writeReports } from '../setup/instance-reports.js';
import type { Query } from '../setup/tenant.js';

const HOUR_MS = 3_600_000;

describe('GET /v1/apps/{app_id}/instances', () => {
  let service: TestService;
  let client: Client;
  const [firstUuid, secondUuid] = [randomUUID(), randomUUID()].sort() as [string, string];

  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    client = await service.tenant();
  });

  const list = async (query: Query = {}) => (await client.tenant.page<Instance>('instances', query)).data;
  const start = (members: object, env?: string) =>
    client.send(
      'startup',
      { message_uuid: randomUUID(), client: 'js:express', framework: 'express', ...members },
      env,
    );

  /** A report of a process, as the collector writes it. */
  const report = (at: number, members: object = {}) =>
    writeReports(service.api, [
      { app_id: client.tenant.appId, app_env_id: 1, instance_uuid: firstUuid, at, ...members },
    ]);

  it('has the version, framework, packages and resources of a process of a client library', async () => {
    const began = Date.now();
    await start({ instance_uuid: firstUuid, versions: { app: '1.2.3', nodejs: '22.21.1' } });
    const resources = { cpu_percent: 12.34, memory_rss: 187_432_960 };
    await client.send('sync', buildSync({ instance_uuid: firstUuid, requests: [buildCount()], resources }));
    const [instance, ...others] = await list({ periods: 1 });
    expect(others).toEqual([]);
    expect(instance).toEqual({
      instance_uuid: firstUuid,
      env: 'prod',
      app_version: '1.2.3',
      framework: 'express',
      client: 'js:express',
      versions: { app: '1.2.3', nodejs: '22.21.1' },
      first_seen: expect.any(String) as string,
      last_seen: expect.any(String) as string,
      is_silent: false,
      resources: [
        { period_start: expect.any(String) as string, cpu_percent: 12.3, memory_rss_bytes: 187_432_960 },
      ],
    });
    expect(Date.parse(instance!.first_seen)).toBeGreaterThanOrEqual(began);
    expect(Date.parse(instance!.last_seen)).toBeGreaterThanOrEqual(Date.parse(instance!.first_seen));
  });

  it('has the newest version of a process of OpenTelemetry', async () => {
    const sender = await OtlpSender.create(service, client);
    for (const version of ['2.0.0', '1.9.0']) {
      const of = resource({ 'service.instance.id': firstUuid, 'service.version': version });
      await sender.deliver('traces', traces([serverSpan()], { of }));
    }
    expect(await list()).toMatchObject([
      {
        instance_uuid: firstUuid,
        env: 'default',
        app_version: '1.9.0',
        client: null,
        versions: {},
        resources: [],
      },
    ]);
  });

  it('tells silent ones apart, and has those alone that reported in the window', async () => {
    const now = Date.now();
    await start({ instance_uuid: secondUuid });
    for (const hours of [50, 49]) await report(now - hours * HOUR_MS);
    await report(now - 11 * 60_000, { instance_uuid: NIL_UUID });
    const read = async (query: Query) => (await list(query)).map((row) => [row.instance_uuid, row.is_silent]);
    expect(await read({})).toEqual([
      [secondUuid, false],
      [null, true],
    ]);
    const at = (hours: number) => new Date(now - hours * HOUR_MS).toISOString();
    expect(await read({ start: at(72) })).toEqual([
      [secondUuid, false],
      [null, true],
      [firstUuid, true],
    ]);
    expect(await read({ start: at(49.5), end: at(48) })).toEqual([[firstUuid, true]]);
    expect(await read({ start: at(72), end: at(50.1) })).toEqual([]);
    expect(await read({ start: at(48.9), end: at(40) })).toEqual([]);
    expect(await read({ app_env_id: 7 })).toEqual([]);
    // No longer retained, and shorter than its periods.
    expect(await read({ start: '2020-01-01', end: '2020-02-01' })).toEqual([]);
    const [from, to] = ['2026-11-01T00:00:00.000Z', '2026-11-01T00:00:00.001Z'];
    expect(await read({ start: from, end: to, periods: 100 })).toEqual([]);
  });

  it('has processor time and memory by period, from reports that have them', async () => {
    const [from, to] = [Date.now() - 5 * HOUR_MS, Date.now() - HOUR_MS];
    const minute = (n: number) => from + n * 60_000;
    await report(minute(0), { cpu_percent: 10, memory_rss: 500 });
    await report(minute(59), { cpu_percent: 30, memory_rss: 400 });
    await report(minute(60), { cpu_percent: 250.5 });
    await report(minute(200), { memory_rss: 2 ** 40 });
    await report(minute(150));
    await report(minute(239), { instance_uuid: secondUuid, cpu_percent: 1 });
    const query = { start: new Date(from).toISOString(), end: new Date(to).toISOString(), periods: 4 };
    const of = (hour: number, cpu_percent: number | null, memory_rss_bytes: number | null) => ({
      period_start: new Date(minute(hour * 60)).toISOString(),
      cpu_percent,
      memory_rss_bytes,
    });
    expect((await list(query)).map(({ instance_uuid, resources }) => [instance_uuid, resources])).toEqual([
      [secondUuid, [of(3, 1, null)]],
      [firstUuid, [of(0, 20, 500), of(1, 250.5, null), of(3, null, 2 ** 40)]],
    ]);
  });

  it('is paged: each process once, in one order, though they report in between', async () => {
    const now = Date.now();
    const uuids = Array.from({ length: 7 }, () => randomUUID());
    // Two environments of one process, and several with the same first report.
    for (const [index, instance_uuid] of uuids.entries())
      for (const app_env_id of index === 0 ? [1, 2] : [1])
        await report(now - Math.floor(index / 3) * 1_000 - 1_000, { instance_uuid, app_env_id });
    const whole = await list();
    expect(whole).toHaveLength(8);
    const times = whole.map(({ first_seen }) => first_seen);
    expect(times).toEqual(times.toSorted().reverse());
    const paged = await client.tenant.readAllPages<Instance>('instances', {}, async (page) => {
      await report(Date.now(), { instance_uuid: uuids[page % 7] });
      return (page % 3) + 1;
    });
    expect(paged.map((row) => [row.instance_uuid, row.first_seen])).toEqual(
      whole.map((row) => [row.instance_uuid, row.first_seen]),
    );
  });

  it('has nothing of other apps, and nothing for a key of one consumer', async () => {
    await start({ instance_uuid: firstUuid });
    const other = await service.tenant();
    expect((await other.tenant.page('instances')).data).toEqual([]);
    const stranger = await service.api.get(`/v1/apps/${client.tenant.appId}/instances`, other.tenant.key);
    expect(stranger.status).toBe(404);
    const { key } = await service.api.admin.keys.create(client.tenant.teamId, {
      scopes: { ...ALL_SCOPES, appIds: [client.tenant.appId], consumer: 'ann' },
    });
    const { status, body } = await service.api.get(`/v1/apps/${client.tenant.appId}/instances`, key);
    expect([status, body]).toEqual([200, { data: [], has_more: false }]);
  });

  it.each([
    [{ periods: 101 }, 'periods'],
    [{ periods: 0 }, 'periods'],
    [{ limit: 101 }, 'limit'],
    [{ start: 'yesterday-ish' }, 'start'],
    [{ start: '2026-11-02', end: '2026-11-01' }, 'start'],
    [{ next_token: 'x' }, 'next_token'],
  ])('answers 422 to %j', async (query: Query, member) => {
    const { status, body } = await client.tenant.get('instances', query);
    expect([status, body.detail[0].loc]).toEqual([422, ['query', member]]);
  });
});
