import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { KILLS, SEED, randomFrom } from '../resilience/crash.js';
import { eventually } from '../setup/eventually.js';
import { prepare } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';
import type { TrafficBody } from '../setup/tenant.js';
import { Load } from './setup/load.js';
import { buildOtlpLoad, readOtlpTotals } from './setup/otlp-load.js';

const BODIES_PER_KILL = 60;
const SENDERS = 20;
/** Every kill but the last ones comes while bodies are sent; those while pending spans are counted. */
const SETTLING_KILLS = Math.ceil(KILLS / 6);

describeEmbedded('kill -9 while OTLP bodies are sent', () => {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-'));
  let service: ProductProcess;

  afterAll(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it(`loses nothing that it acknowledged and stores nothing twice (CRASH_SEED=${SEED})`, async () => {
    const random = randomFrom(SEED);
    const { appId, key } = await prepare({ DATA_DIR: directory }, 0);
    const { token } = await withStore((store) => createAdmin(store).writeTokens.create(appId));
    service = await ProductProcess.start(['serve'], {
      DATA_DIR: directory,
      COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
      COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '1',
    });
    const sendingKills = KILLS - SETTLING_KILLS;
    const { first, messages, expected } = buildOtlpLoad(
      Math.ceil((sendingKills * BODIES_PER_KILL) / 7),
      token,
      () => service.collectorUrl,
    );
    // The instance is counted by its metric before its first span is sent.
    await new Load([first]).run(1);
    const load = new Load(messages);
    const done = load.run(SENDERS);
    for (let kill = 0; kill < sendingKills; kill++) {
      const at = Math.floor((kill + random()) * BODIES_PER_KILL);
      await Promise.race([eventually(() => load.acknowledged >= at, 120_000), done]);
      await service.crash();
      await service.launch();
    }
    await done;
    expect(load.repeated).toBeGreaterThanOrEqual(sendingKills / 2);
    for (let kill = 0; kill < SETTLING_KILLS; kill++) {
      // Pending spans are counted within five seconds after the start.
      await new Promise((resolve) => setTimeout(resolve, 4_500 + 1_000 * random()));
      await service.crash();
      await service.launch();
    }
    await eventually(async () => (await countRequests(appId, key)) === expected.requests, 60_000);
    await service.stop();
    expect(await withStore((store) => readOtlpTotals(store, appId))).toEqual(expected);
  }, 1_200_000);

  async function countRequests(appId: number, key: string): Promise<number> {
    const response = await fetch(`${service.apiUrl}/v1/apps/${appId}/traffic`, {
      headers: { 'Api-Key': key },
    });
    const { data } = (await response.json()) as { data: TrafficBody[] };
    return data.reduce((sum, { requests }) => sum + requests, 0);
  }

  async function withStore<Result>(work: (store: ClickHouse) => Promise<Result>): Promise<Result> {
    const store = await ClickHouse.open(new Config({ DATA_DIR: directory }));
    return work(store).finally(() => store.close());
  }
});
