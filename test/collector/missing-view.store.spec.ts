import { randomUUID } from 'node:crypto';
import { eventually } from '../setup/eventually.js';
import { TestService } from './setup/collector.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';
import { OtlpSender, logs, nanosecondsAgo, serverSpan, traces } from './setup/otlp.js';

describe('a store with a view missing', () => {
  let service: TestService;

  beforeEach(async () => {
    service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0' });
  });

  afterEach(() => service.stop());

  it.each(['request_logs_mv_v1', 'counts_per_day_mv_v1'])(
    'takes nothing in any way in while %s is missing, and everything once it is back',
    async (view) => {
      const { api, collector } = service;
      const client = await service.tenant();
      const sender = await OtlpSender.create(service, client);
      const [{ ddl }] = (await api.store.rows<{ ddl: string }>(
        'test.view',
        'SELECT create_table_query AS ddl FROM system.tables WHERE database = currentDatabase() AND name = {view:String}',
        { view },
      )) as [{ ddl: string }];
      await api.store.command(`DROP VIEW ${view} SYNC`);

      const log = logs([
        {
          timeUnixNano: nanosecondsAgo(60_000),
          traceId: Buffer.alloc(16, 1),
          body: { value: { case: 'stringValue', value: 'x' } },
        },
      ]);
      const line = {
        request_uuid: randomUUID(),
        timestamp: new Date(Date.now() - 60_000).toISOString(),
        method: 'GET',
        url: 'https://shop.example/',
        status_code: 200,
      };
      const ways = {
        sync: async () => (await client.send('sync', buildSync({ requests: [buildCount()] }))).status,
        log: async () => (await client.sendLog([buildLogItem()])).status,
        traces: async () => (await sender.send('traces', traces([serverSpan()]))).status,
        logs: async () => (await sender.send('logs', log)).status,
        requests: async () =>
          (
            await fetch(`${collector.url}/v1/requests`, {
              method: 'POST',
              headers: { authorization: `Bearer ${sender.token}` },
              body: JSON.stringify(line),
            })
          ).status,
        import: () =>
          client.tenant.write({}).then(
            () => 202,
            () => 503,
          ),
      };
      const answers = async () => {
        const found = new Map<string, number>();
        for (const [way, send] of Object.entries(ways)) found.set(way, await send());
        return Object.fromEntries(found);
      };
      expect(await answers()).toEqual(Object.fromEntries(Object.keys(ways).map((way) => [way, 503])));
      expect((await client.tenant.traffic()).data).toEqual([]);

      await api.store.command(ddl);
      await eventually(async () => (await ways.requests()) === 200);
      for (const [way, status] of Object.entries(await answers()))
        expect([way, status < 300]).toEqual([way, true]);
      expect((await client.tenant.logs()).data.length).toBeGreaterThanOrEqual(4);
    },
  );
});
