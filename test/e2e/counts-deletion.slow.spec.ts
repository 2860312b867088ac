import { createAdmin } from '../../src/ops/admin/admin.js';
import { Config } from '../../src/config/config.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { openMigrated } from '../setup/schema.js';
import { describeEmbedded } from '../setup/store.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describeEmbedded('app delete-counts', () => {
  const data = dataDirectory();
  /** 48 hours from a midnight of UTC on, with a request in each. */
  const first = (Math.floor(Date.now() / DAY_MS) - 4) * DAY_MS;
  const hour = (n: number) => new Date(first + n * HOUR_MS).toISOString();
  const args = ['app', 'delete-counts', '--app', '1', '--since', hour(20), '--until', hour(30)];
  let server: ProductProcess;
  let key: string;

  beforeAll(async () => {
    const store = await openMigrated(new Config(data.env));
    const admin = createAdmin(store);
    const { id } = await admin.teams.create('Acme', 'premium');
    ({ key } = await admin.keys.create(id));
    await admin.apps.create(id, 'Shop', 'express');
    const writer = RequestsWriter.create(store);
    await writer.write(
      1,
      Array.from({ length: 48 }, (_, n) =>
        buildRequest({ timestamp: first + n * HOUR_MS, response_time_ms: 2 ** (n % 12) }),
      ),
    );
    await writer.close();
    await store.close();
  });

  afterAll(async () => {
    await ProductProcess.endAll();
    data.remove();
  });

  const serve = () => ProductProcess.start(['serve'], { ...data.env, RATE_LIMIT_PER_MINUTE: '10000' });

  /** Requests of each hour, or day. */
  async function read(interval: 'hour' | 'day'): Promise<number[]> {
    const response = await fetch(`${server.apiUrl}/v1/apps/1/metrics`, {
      method: 'POST',
      headers: { 'Api-Key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        since: hour(0),
        until: hour(48),
        interval,
        metrics: ['requests', 'response_time_p50'],
      }),
    });
    expect(response.status).toBe(200);
    const lines = (await response.text()).trim().split('\n');
    return lines.map((line) => (JSON.parse(line) as { requests: number }).requests);
  }

  it('says what it would delete, asks before it does, and survives kills of itself and of the server', async () => {
    server = await serve();
    const dry = await ProductProcess.run([...args, '--dry-run'], data.env);
    expect(JSON.parse(dry.out[0]!)).toMatchObject({
      app_id: 1,
      since: hour(20),
      until: hour(30),
      requests: 10,
    });
    const unconfirmed = await ProductProcess.run(args, data.env);
    expect([unconfirmed.code, unconfirmed.err.join()]).toEqual([1, expect.stringContaining('--yes')]);
    expect(await read('day')).toEqual([24, 24]);

    for (const killAfterMs of [400, 700, 1_000, 1_300, 1_600, 1_900])
      await ProductProcess.run([...args, '--yes'], data.env, { killAfterMs });
    const running = ProductProcess.run([...args, '--yes'], data.env, { killAfterMs: 10_000 });
    setTimeout(() => void server.crash(), 1_500);
    await running;
    await server.ended;
    // Without a server, the command opens the store itself.
    await ProductProcess.run([...args, '--yes'], data.env, { killAfterMs: 2_000 });

    server = await serve();
    const last = await ProductProcess.run([...args, '--yes'], data.env);
    expect([last.code, last.err.filter((line) => !line.includes('"audit"'))]).toEqual([0, []]);
    expect(await read('hour')).toEqual(Array.from({ length: 38 }, () => 1));
    expect(await read('day')).toEqual([20, 18]);
    const logs = await fetch(`${server.apiUrl}/v1/apps/1/request-logs?start=${hour(20)}&end=${hour(30)}`, {
      headers: { 'Api-Key': key },
    });
    expect(((await logs.json()) as { data: unknown[] }).data).toHaveLength(10);
  });

  it('refuses an app that does not exist, and a window that is not one of whole hours', async () => {
    const unknown = await ProductProcess.run(
      ['app', 'delete-counts', '--app', '9', ...args.slice(4), '--yes'],
      data.env,
    );
    expect([unknown.code, unknown.err.at(-1)]).toEqual([1, expect.stringContaining('There is no app 9')]);
    const odd = ['--since', '2026-11-20T10:30Z', '--until', hour(30), '--yes'];
    const refused = await ProductProcess.run(['app', 'delete-counts', '--app', '1', ...odd], data.env);
    expect([refused.code, refused.err.at(-1)]).toEqual([1, expect.stringContaining('whole hour in UTC')]);
  });
});
