import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { KILLS, SEED, randomFrom } from '../resilience/crash.js';
import { prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { COUNTS_TABLES, SELECT_TOTALS } from '../setup/rollups.js';
import { describeEmbedded } from '../setup/store.js';
import { Load, type Outgoing } from './setup/load.js';

const BODIES_PER_KILL = 15;
const LINES = 40;
/** Lines that the next body has again, as a shipper that cuts its batches anew. */
const OVERLAP = 10;
/** Two of them wait for each other, because an app has one body at a time. */
const SENDERS = 3;

describeEmbedded('kill -9 while bodies of requests are sent', () => {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-'));
  let service: ProductProcess;

  afterAll(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it(`loses nothing that it acknowledged and stores nothing twice (CRASH_SEED=${SEED})`, async () => {
    const random = randomFrom(SEED);
    const { appId } = await prepare({ DATA_DIR: directory }, 0);
    const { token } = await withStore((store) => createAdmin(store).writeTokens.create(appId));
    service = await ProductProcess.start(['serve'], {
      DATA_DIR: directory,
      COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
    });
    const { bodies, requests } = buildBodies(KILLS * BODIES_PER_KILL, service.collectorUrl, token);
    const load = new Load(bodies);
    const done = load.run(SENDERS);
    for (let kill = 0; kill < KILLS; kill++) {
      const at = Math.floor((kill + random()) * BODIES_PER_KILL);
      await Promise.race([eventually(() => load.acknowledged >= at, 120_000), done]);
      await service.crash();
      await service.launch();
    }
    await done;
    await service.stop();
    const [totals] = await withStore((store) => store.rows('totals', SELECT_TOTALS));
    expect(totals).toEqual(Object.fromEntries(COUNTS_TABLES.map((table) => [table, [requests, requests]])));
    expect(
      await withStore((store) =>
        store.rows(
          'logs',
          'SELECT count() AS rows, uniqExact(request_uuid) AS requests FROM request_logs_v1',
        ),
      ),
    ).toEqual([{ rows: requests, requests }]);
  }, 1_200_000);

  async function withStore<Result>(work: (store: ClickHouse) => Promise<Result>): Promise<Result> {
    const store = await ClickHouse.open(new Config({ DATA_DIR: directory }));
    return work(store).finally(() => store.close());
  }
});

/** Every other body is compressed; each request has a time and no sizes, so it is in one bin. */
function buildBodies(count: number, collectorUrl: string, token: string) {
  const requests = count * (LINES - OVERLAP) + OVERLAP;
  const now = Date.now();
  const lines = Array.from({ length: requests }, (_, index) =>
    JSON.stringify({
      timestamp: new Date(now - 3_600_000 + index * 100).toISOString(),
      method: 'GET',
      url: `https://shop.example.com/orders/${index}`,
      path: `/orders/{id}/${index % 7}`,
      status_code: 200,
      response_time_ms: index % 50,
    }),
  );
  const bodies = Array.from({ length: count }, (_, nth): Outgoing => {
    const from = nth * (LINES - OVERLAP);
    const text = lines.slice(from, from + LINES).join('\n');
    const isCompressed = nth % 2 === 0;
    return {
      url: `${collectorUrl}/v1/requests`,
      body: isCompressed ? gzipSync(text) : text,
      headers: { authorization: `Bearer ${token}`, ...(isCompressed && { 'content-encoding': 'gzip' }) },
      rejected: 0,
    };
  });
  return { bodies, requests };
}
