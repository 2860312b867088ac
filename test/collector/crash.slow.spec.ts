import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { COUNTS_TABLES, SELECT_TOTALS } from '../setup/rollups.js';
import { describeEmbedded } from '../setup/store.js';
import type { LogBody, TrafficBody } from '../setup/tenant.js';
import { Load, type Outgoing } from './setup/load.js';
import { logFile } from './setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';

/** Longer with `CRASH_KILLS`, as in a nightly run. */
const IS_LONG = process.env.CRASH_KILLS !== undefined;
const FILES = IS_LONG ? 300 : 60;
const SYNCS = 10 * FILES;
const ITEMS_PER_FILE = 5;
const SENDERS = 100;
/** After how many acknowledgements the process is killed. */
const CRASHES_AT = (IS_LONG ? [2, 5, 9] : [3, 8]).map((share) => share * FILES);

/**
 * Every message's count is another, so that one that is missing is not made up for by one that is doubled.
 */
const toCount = (index: number) => 1 + (index % 97);

describeEmbedded('kill -9 during a load', () => {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-'));
  let service: ProductProcess;
  let account: { appId: number; clientId: string; key: string };
  let load: Load;

  beforeAll(async () => {
    account = await prepare({ DATA_DIR: directory }, 0);
    service = await ProductProcess.start(['serve'], {
      DATA_DIR: directory,
      COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
      LOG_LEVEL: 'fatal',
    });
    load = new Load(messages(`${service.collectorUrl}/v2/${account.clientId}/prod`));
    const done = load.run(SENDERS);
    for (const acknowledged of CRASHES_AT) {
      await Promise.race([eventually(() => load.acknowledged >= acknowledged, 60_000), done]);
      await service.crash();
      await service.launch();
    }
    await done;
  }, 300_000);

  afterAll(async () => {
    load.stop();
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const get = async (path: string) => {
    const response = await fetch(`${service.apiUrl}/v1/apps/${account.appId}/${path}`, {
      headers: { 'Api-Key': account.key },
    });
    return (await response.json()) as { data: unknown[]; has_more: boolean; next_token?: string };
  };

  it('was in the middle of it', () => {
    expect(load.acknowledged).toBe(SYNCS + FILES);
    expect(load.repeated).toBeGreaterThan(CRASHES_AT.length);
  });

  it('counts every acknowledged message once, and only once', async () => {
    const { data } = await get('traffic');
    const requests = (data as TrafficBody[]).map((period) => period.requests);
    const expected = Array.from({ length: SYNCS }, (_, index) => toCount(index));
    expect(add(requests)).toBe(add(expected));
    const bytes = (data as TrafficBody[]).map((period) => period.bytes_sent);
    expect(add(bytes)).toBe(10 * add(expected));
  });

  it('has them in every table, once', async () => {
    await service.stop();
    const store = await ClickHouse.open(new Config({ DATA_DIR: directory }));
    try {
      const [totals] = await store.rows('test.totals', SELECT_TOTALS);
      const [reports] = await store.rows(
        'test.reports',
        `SELECT (SELECT sum(errors) FROM errors_v1) AS errors,
           (SELECT sum(errors) FROM error_counts_per_15m_v1) AS counted,
           (SELECT count() FROM instance_resources_v1) AS resources,
           (SELECT uniqExact(memory_rss) FROM instance_resources_v1) AS distinct_resources`,
      );
      const expected = add(Array.from({ length: SYNCS }, (_, index) => toCount(index)));
      expect(totals).toEqual(Object.fromEntries(COUNTS_TABLES.map((table) => [table, [expected, expected]])));
      expect(reports).toEqual({
        errors: expected,
        counted: expected,
        resources: SYNCS,
        distinct_resources: SYNCS,
      });
    } finally {
      await store.close();
      await service.launch();
    }
  });

  it('logs every item of an acknowledged file once, and only once', async () => {
    const uuids: string[] = [];
    for (let token = ''; ;) {
      const { data, next_token } = await get(`request-logs?limit=1000${token}`);
      uuids.push(...(data as LogBody[]).map(({ request_uuid }) => request_uuid));
      if (next_token === undefined) break;
      token = `&next_token=${next_token}`;
    }
    expect(uuids).toHaveLength(FILES * ITEMS_PER_FILE);
    expect(new Set(uuids).size).toBe(FILES * ITEMS_PER_FILE);
  });

  it('gives every name one ID', async () => {
    const { data: endpoints } = await get('endpoints');
    const paths = (endpoints as { path: string }[]).map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    expect(paths).toHaveLength(50);
    const { data: consumers } = await get('consumers?limit=1000');
    const identifiers = (consumers as { identifier: string }[]).map(({ identifier }) => identifier);
    expect(new Set(identifiers).size).toBe(identifiers.length);
    expect(identifiers).toHaveLength(200);
  });
});

function messages(base: string): Outgoing[] {
  const syncs = Array.from({ length: SYNCS }, (_, index) => {
    const count = buildCount({
      path: `/things/${index % 50}/:id`,
      consumer: `consumer-${index % 200}`,
      request_count: toCount(index),
      response_size_sum: 10 * toCount(index),
      status_code: 200 + (index % 3) * 100,
      response_times: { [10 * (index % 40)]: toCount(index) },
    });
    const error = { method: 'GET', path: '/things/0/:id', type: 'E', msg: 'm', error_count: toCount(index) };
    const resources = { cpu_percent: 1, memory_rss: index };
    return {
      url: `${base}/sync`,
      body: JSON.stringify(buildSync({ requests: [count], server_errors: [error], resources })),
    };
  });
  const files = Array.from({ length: FILES }, () => {
    const items = Array.from({ length: ITEMS_PER_FILE }, () =>
      buildLogItem({ request: { path: '/things/0/:id' } }),
    );
    return { url: `${base}/log?uuid=${randomUUID()}`, body: logFile(items) };
  });
  const every = SYNCS / FILES;
  return files.flatMap((file, index) => [...syncs.slice(index * every, (index + 1) * every), file]);
}

function add(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
