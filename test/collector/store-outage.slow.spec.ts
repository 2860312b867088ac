import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { BatchLog } from '../../src/write/batch-log.js';
import type { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import { eventually } from '../setup/eventually.js';
import { type Client, TestService } from './setup/collector.js';
import { Load } from './setup/load.js';
import { logFile } from './setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';
import { OtlpSender, readStatus, serverSpan, traces } from './setup/otlp.js';
import { startServer } from './setup/server.js';

describe('a store that is away for a while', () => {
  let server: ClickHouseServer;
  let service: TestService;
  let client: Client;

  beforeAll(async () => {
    const started = await startServer();
    server = started.server;
    service = await TestService.start({ ...started.env, QUERY_TIMEOUT_SECONDS: '3' });
  });
  beforeEach(async () => {
    client = await service.tenant();
  });
  afterAll(async () => {
    await service.stop();
    await server.stop();
  });

  const requests = async () => {
    const { data } = await client.tenant.traffic();
    return data.reduce((total, period) => total + period.requests, 0);
  };
  const logs = async () => (await client.tenant.logs({ limit: 1000 })).data;

  it('is 503 with Retry-After for its clients, and nothing is lost or doubled when it comes back', async () => {
    const url = (kind: string) => `${service.collector.url}${client.path(kind)}`;
    const syncs = Array.from({ length: 400 }, (_, index) => ({
      url: url('sync'),
      body: JSON.stringify(buildSync({ requests: [buildCount({ request_count: index })] })),
    }));
    const files = Array.from({ length: 40 }, () => {
      const item = buildLogItem();
      return { url: `${url('log')}?uuid=${item.uuid}`, body: logFile([item]) };
    });
    const load = new Load([...syncs.slice(0, 200), ...files, ...syncs.slice(200)]);
    const done = load.run(20);
    await eventually(() => load.acknowledged > 100);
    await server.kill();
    const repeated = load.repeated;
    await eventually(() => load.repeated > repeated + 100, 20_000);
    const response = await client.send('sync', buildSync());
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(response.body).toEqual({ detail: 'Service temporarily unavailable' });
    await server.launch();
    await done;
    expect(await requests()).toBe((399 * 400) / 2);
    expect(await logs()).toHaveLength(40);
  });

  it('is 503 with Retry-After and a Status for SDKs, whose same body is taken when it comes back', async () => {
    const sender = await OtlpSender.create(service, client);
    const body = traces([serverSpan(), serverSpan()]);
    await sender.deliver('traces', traces([serverSpan()]));
    await server.kill();
    const away = await sender.send('traces', body);
    expect([away.status, away.headers.get('retry-after'), readStatus(away.bytes)]).toEqual([
      503,
      '1',
      'Service temporarily unavailable',
    ]);
    await server.launch();
    await eventually(async () => (await sender.send('traces', body)).status === 200, 20_000);
    await sender.deliver('traces', body);
    expect(await logs()).toHaveLength(3);
  });

  it('is never 404, which would switch the library off', async () => {
    await server.refuse();
    const responses = [await client.send('sync', buildSync()), await client.sendLog([buildLogItem()])];
    await server.accept();
    expect(responses.map(({ status }) => status)).toEqual([503, 503]);
  });

  it.each([1, 2, 3, 5])('counts a message once when the responses to %d writes were lost', async (times) => {
    await client.send('sync', buildSync({ requests: [buildCount({ consumer: 'bob' })] }));
    const sync = buildSync({ requests: [buildCount({ consumer: 'bob', request_count: 10 })] });
    const item = buildLogItem();
    const send = () => Promise.all([client.send('sync', sync), client.sendLog([item], item.uuid)]);
    // Writes have no name.
    await server.fail({ kind: 'cut', framing: 'chunked', where: 'in-row' }, { on: '', times });
    await eventually(async () => (await send()).every(({ status }) => status === 202), 30_000, 50);
    await server.heal();
    expect(await requests()).toBe(11);
    expect(await logs()).toHaveLength(1);
  });

  it('counts a message once when a write takes effect after the message came again', async () => {
    await client.send('sync', buildSync({ requests: [buildCount()] }));
    const sync = buildSync({ requests: [buildCount({ request_count: 10 })] });
    await server.fail({ kind: 'late', ms: 500, isReset: true }, { on: '', times: 1 });
    await eventually(async () => (await client.send('sync', sync)).status === 202, 30_000, 50);
    await pause(1_000);
    await server.heal();
    const sql =
      'SELECT toUInt32(uniqExact(batch_id)) AS batches FROM ingest_messages_v1 WHERE message_uuid = {message_uuid:UUID}';
    const { message_uuid } = sync;
    // Another batch would be applied with the batches that a process left.
    expect(await service.api.store.rows('test.batches', sql, { message_uuid })).toEqual([{ batches: 1 }]);
    expect(await requests()).toBe(11);
  });

  it('fails a recovery, which does not take the batches for rejected ones', async () => {
    const log = new BatchLog(service.api.store);
    const piece = { table: 'request_counts' as const, rows: '{"app_id":1,"requests":1}' };
    await log.append({
      id: randomUUID(),
      createdAt: Math.floor(Date.now() / 1000),
      messages: [],
      pieces: [piece],
    });
    await server.fail({ kind: 'reset' }, { on: '' });
    await expect(log.recover(0)).rejects.toThrow(StoreUnavailable);
    await server.heal();
    expect(await log.recover(0)).toMatchObject({ completed: 1 });
  });

  it.each([1, 2, 3])('counts a message once when %d writes were refused', async (times) => {
    const sync = buildSync({ requests: [buildCount({ request_count: 10 })] });
    await server.fail({ kind: 'exception', code: 241 }, { on: '', times });
    await eventually(async () => (await client.send('sync', sync)).status === 202, 30_000, 50);
    await server.heal();
    expect(await requests()).toBe(10);
  });
});
