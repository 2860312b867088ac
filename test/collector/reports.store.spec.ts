import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type Client, TestService } from './setup/collector.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';
import { OtlpSender, attributes, logs, resource, serverSpan, traces } from './setup/otlp.js';

const MIB = 1024 * 1024;
const DOCUMENT = { openapi: '3.1.0', info: { title: 'Shop', version: '1' }, paths: {} };

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_RATE_LIMIT_PER_MINUTE: '10000' });
});
afterAll(() => service.stop());
beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

const select = <Row>(sql: string) =>
  service.api.store.rows<Row>('test.select', sql, { app_id: client.tenant.appId });
const readDocuments = () =>
  select<{ app_version: string; document: string; routes: string }>(
    'SELECT app_version, document, routes FROM api_documents_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY app_version',
  );
const countDocumentRows = async () => {
  const [row] = await select<{ n: number }>(
    'SELECT count() AS n FROM api_documents_v1 WHERE app_id = {app_id:UInt32}',
  );
  return row!.n;
};
const readInstances = () =>
  select<{
    env: string;
    instance: string;
    app_version: string;
    framework: string;
    first: number;
    last: number;
  }>(`
SELECT e.name AS env, toString(i.instance_uuid) AS instance, i.app_version AS app_version, max(i.framework) AS framework,
  toUnixTimestamp64Milli(min(i.first_seen)) AS first, toUnixTimestamp64Milli(max(i.last_seen)) AS last
FROM instances_v1 AS i INNER JOIN app_envs_v1 AS e ON e.app_id = i.app_id AND e.id = i.app_env_id
WHERE i.app_id = {app_id:UInt32} GROUP BY ALL ORDER BY env, instance, app_version`);
const readAttributes = async () => {
  const rows = await select<{ identifier: string; attributes: string }>(
    'SELECT identifier, attributes FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY identifier',
  );
  return Object.fromEntries(rows.map(({ identifier, attributes: json }) => [identifier, json]));
};
const startup = (members: object, env?: string) =>
  client.send('startup', { message_uuid: randomUUID(), client: 'js:express', ...members }, env);
/** A report of version 1 of the client libraries. */
const report = (name: string, body: object, of = resource()) => {
  const value = { case: 'stringValue' as const, value: JSON.stringify(body) };
  return logs([{ eventName: name, body: { value } }], { scope: 'apitally', of });
};

describe('instances', () => {
  const [firstId, secondId] = [randomUUID(), randomUUID()].sort() as [string, string];

  it('of the hub have the version of their start, and are seen at each sync', async () => {
    const began = Date.now();
    expect((await startup({ instance_uuid: firstId, versions: { app: '1.2.3' } })).status).toBe(202);
    expect((await startup({ instance_uuid: secondId, versions: {} }, 'dev')).status).toBe(202);
    await pause(5);
    await client.send('sync', buildSync({ instance_uuid: firstId, requests: [buildCount()] }));
    const rows = await readInstances();
    expect(rows).toMatchObject([
      { env: 'dev', instance: secondId, app_version: '', framework: 'express' },
      { env: 'prod', instance: firstId, app_version: '' },
      { env: 'prod', instance: firstId, app_version: '1.2.3', framework: 'express' },
    ]);
    expect(rows[2]!.first).toBeGreaterThanOrEqual(began);
    expect(rows[1]!.last).toBeGreaterThan(rows[2]!.last);
  });

  it('of OTLP have the version of their resource, whatever the signal', async () => {
    const of = (version: string) => resource({ 'service.instance.id': firstId, 'service.version': version });
    await sender.deliver('traces', traces([serverSpan()], { of: of('2.0.0') }));
    await sender.deliver('logs', logs([{ body: attributes({ m: 'a' })[0]!.value }], { of: of('2.0.0') }));
    const [first] = await readInstances();
    expect(first).toMatchObject({ env: 'default', instance: firstId, app_version: '2.0.0' });
    expect(first!.last).toBeGreaterThan(first!.first);
    await sender.deliver('traces', traces([serverSpan()], { of: of('2.1.0') }));
    expect((await readInstances()).map((row) => row.app_version)).toEqual(['2.0.0', '2.1.0']);
  });

  it('of version 1 of the client libraries have the version in their start-up event', async () => {
    const versions = { python: '3.14', app: '7' };
    await sender.deliver('logs', report('apitally.app.startup', { framework: 'fastapi', versions }));
    expect(await readInstances()).toMatchObject([{ app_version: '7', framework: 'fastapi' }]);
  });

  it('have at most 128 characters of a version', async () => {
    await startup({ instance_uuid: firstId, versions: { app: 'v'.repeat(MIB) } });
    const of = resource({ 'service.version': 'w'.repeat(MIB) });
    await sender.deliver('traces', traces([serverSpan()], { of }));
    expect((await readInstances()).map((row) => row.app_version).sort()).toEqual([
      'v'.repeat(128),
      'w'.repeat(128),
    ]);
  });
});

describe('API documents', () => {
  const json = JSON.stringify(DOCUMENT);
  const paths = [
    { method: 'get', path: '/users/:id', summary: 'Get a user' },
    { method: 'POST', path: '/users' },
    { method: 'PUT', path: '/users', summary: 7 },
  ];
  const routes = JSON.stringify([{ method: 'GET', path: '/users/{id}', summary: 'Get a user' }]);

  it.each([
    ['an object', DOCUMENT],
    ['text', json],
  ])('of the hub are kept as they are, with summaries of routes: %s', async (_, openapi) => {
    const { status, body } = await startup({ openapi, paths, versions: { app: '1' } });
    expect([status, body]).toEqual([202, { status: 'accepted' }]);
    expect(await readDocuments()).toEqual([{ app_version: '1', document: json, routes }]);
  });

  it('of version 1 of the client libraries are kept in the same way', async () => {
    const body = { framework: 'fastapi', openapi: json, paths, versions: {} };
    await sender.send('logs', report('apitally.app.startup', body, resource({ 'service.version': '3' })));
    expect(await readDocuments()).toEqual([{ app_version: '3', document: json, routes }]);
  });

  it('are the newest of each version, and not written again if they are equal', async () => {
    const send = (version: string, title: string) =>
      startup({ openapi: { ...DOCUMENT, info: { title } }, versions: { app: version } });
    for (let n = 0; n < 3; n++) await send('1', 'First');
    await Promise.all(Array.from({ length: 20 }, () => send('1', 'First')));
    expect(await countDocumentRows()).toBe(1);
    await send('2', 'Second');
    await send('1', 'Newer');
    expect((await readDocuments()).map(({ app_version, document }) => [app_version, document])).toEqual([
      ['1', expect.stringContaining('Newer')],
      ['2', expect.stringContaining('Second')],
    ]);
    expect(await countDocumentRows()).toBeLessThanOrEqual(3);
  });

  it('of more than 100 versions are those of the newest 100', async () => {
    for (let version = 0; version < 130; version += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          startup({ openapi: DOCUMENT, versions: { app: String(version + n) } }),
        ),
      );
    const kept = (await readDocuments()).map((row) => Number(row.app_version));
    expect(kept).toHaveLength(100);
    expect(Math.min(...kept)).toBeGreaterThanOrEqual(30);
  });

  it('keep the names of secrets, and mask secrets', async () => {
    const password = { type: 'string', example: 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl' };
    const openapi = { ...DOCUMENT, components: { attributes: { properties: { password } } } };
    await startup({ openapi });
    const [row] = await readDocuments();
    expect(JSON.parse(row!.document)).toMatchObject({
      components: { attributes: { properties: { password: { type: 'string' } } } },
    });
    expect(row!.document).not.toContain('eyJhbGci');
  });

  const largest = (bytes: number) => {
    const text = JSON.stringify({ ...DOCUMENT, 'x-text': '' });
    return text.replace('"x-text":""', `"x-text":"${'x'.repeat(bytes - text.length)}"`);
  };

  it('have up to 4 MiB', async () => {
    await startup({ openapi: largest(4 * MIB) });
    expect((await readDocuments())[0]!.document).toHaveLength(4 * MIB);
  });

  it.each([
    ['larger than 4 MiB', largest(4 * MIB + 1), 'openapi: must have at most 4194304 bytes'],
    ['no JSON', 'openapi: 3.1.0', 'openapi: must be valid JSON'],
    ['cut off', json.slice(0, -1), 'openapi: must be valid JSON'],
    ['no object', '[]', 'openapi: must be an object'],
    ['a number', 7, 'openapi: must be an object'],
    ['of a million values', `{"a":[${'[],'.repeat(999_999)}[]]}`, 'openapi: must have at most 400000 values'],
    ['deep', `${'['.repeat(300_000)}${']'.repeat(300_000)}`, 'openapi: '],
  ])(
    'that are %s are left out with a line in the log, and the message is accepted',
    async (_, openapi, why) => {
      const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
      const { status, body } = await startup({ openapi, paths: [{ method: 'GET', path: '/a' }] });
      expect([status, body]).toEqual([202, { status: 'accepted' }]);
      expect(await readDocuments()).toEqual([]);
      expect((await client.tenant.get('endpoints')).body.data).toHaveLength(1);
      const lines = warned.mock.calls.map(([line]) => String(line));
      expect(lines).toEqual([expect.stringContaining(`startup: members left out: openapi; ${why}`)]);
    },
  );

  it.each(['', null])('are absent if they are %p', async (openapi) => {
    expect((await startup({ openapi })).body).toEqual({ status: 'accepted' });
    expect(await countDocumentRows()).toBe(0);
  });
});

describe('attributes of consumers', () => {
  const bob = (attributes_: unknown) => ({ identifier: 'bob', attributes: attributes_ });

  it('are set, changed and removed one by one, in every way that describes consumers', async () => {
    const sync = (...consumers: object[]) => client.send('sync', buildSync({ consumers }));
    await sync(bob({ plan: 'gold', seats: 7, trial: true }));
    expect(await readAttributes()).toEqual({ bob: '{"plan":"gold","seats":"7","trial":"true"}' });
    await sync(bob({ seats: '8', trial: null }), { identifier: 'bob', name: 'Bob' });
    await sender.deliver('logs', report('apitally.consumer.update', bob({ region: 'eu' })));
    await client.sendLog([buildLogItem({ request: { consumer: bob({ log: 'yes' }) } })]);
    expect(await readAttributes()).toEqual({
      bob: '{"log":"yes","plan":"gold","region":"eu","seats":"8"}',
    });
    expect((await client.tenant.consumers()).data).toMatchObject([{ identifier: 'bob', name: 'Bob' }]);
  });

  it('are kept if the name changes, and by a collector that did not see them', async () => {
    await client.send('sync', buildSync({ consumers: [bob({ plan: 'gold' })] }));
    const [row] = await select<object>('SELECT * FROM consumers_v1 WHERE app_id = {app_id:UInt32}');
    const changed = { ...row, attributes: '{"plan":"silver"}', updated_at: (Date.now() + 1) * 1000 };
    await service.api.store.insert('consumers_v1', [JSON.stringify(changed)]);
    await client.send('sync', buildSync({ consumers: [{ identifier: 'bob', name: 'Bob' }] }));
    expect(await readAttributes()).toEqual({ bob: '{"plan":"silver"}' });
  });

  it('are masked, cut and bounded', async () => {
    const many = Object.fromEntries(Array.from({ length: 49 }, (_, n) => [`n${n + 10}`, 'v'.repeat(2_000)]));
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await client.send(
      'sync',
      buildSync({ consumers: [bob({ password: 'hunter2-hunter2', ...many, more: 1 })] }),
    );
    await client.send('sync', buildSync({ consumers: [bob({ other: 'x', list: [] })] }));
    const stored = JSON.parse((await readAttributes()).bob!) as Record<string, string>;
    expect(Object.keys(stored)).toHaveLength(50);
    expect(stored).toMatchObject({ n10: 'v'.repeat(1_024), password: '******' });
    expect(warned.mock.calls.flat().join()).toContain('consumers[].attributes');
  });

  it.each([['text'], [7], [[]]])('that are %p are left out, and the consumer is kept', async (value) => {
    await client.send('sync', buildSync({ consumers: [bob(value)] }));
    expect(await readAttributes()).toEqual({ bob: '' });
  });
});
