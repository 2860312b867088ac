import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { TestApp } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { postFor, postOnly } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';

const PLACES = 4;
const ROWS = 1_500;

describe('places for exports and queries of traces', () => {
  let app: TestApp;
  let tenants: Tenant[];
  const start = Date.now() - 3_600_000;
  const since = new Date(start).toISOString();

  beforeAll(async () => {
    app = await TestApp.start({ MAX_EXPORTS: String(PLACES) });
    tenants = [await Tenant.create(app), await Tenant.create(app), await Tenant.create(app)];
    // Far more than the buffers of a connection hold.
    const url = `https://x/${'y'.repeat(20_000)}`;
    for (const tenant of tenants)
      await tenant.write(...Array.from({ length: ROWS }, (_, index) => ({ timestamp: start + index, url })));
  });

  afterAll(async () => {
    // The server would wait for their readers until they are too slow.
    for (const response of opened) response.destroy();
    await app.stop();
  });

  const createKey = async ({ teamId }: Tenant) => (await app.admin.keys.create(teamId)).key;
  const opened: IncomingMessage[] = [];
  /** An export that is not read. */
  const open = async ({ appId }: Tenant, key: string) => {
    const sent = { headers: { 'Api-Key': key }, body: { since } };
    const response = await postOnly(app.url, `/v1/apps/${appId}/request-logs`, sent);
    opened.push(response);
    return response;
  };

  it('are of any team, but no team keeps more than its share from others', async () => {
    const [first, second, three] = tenants as [Tenant, Tenant, Tenant];
    const keys = [first.key, await createKey(first)];
    const unread = [];
    for (const key of [...keys, ...keys]) unread.push(await open(first, key));
    expect(unread.map(({ statusCode }) => statusCode)).toEqual(Array(PLACES).fill(200));
    expect(await open(first, await createKey(first))).toMatchObject({
      statusCode: 503,
      headers: { 'retry-after': '1' },
    });

    const others = [await open(second, second.key), await open(second, second.key)];
    expect(others.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect((await open(second, await createKey(second))).statusCode).toBe(503);
    // Of the first team two broke off, visibly, and two are whole.
    const ends = await Promise.allSettled(unread.map((response) => buffer(response)));
    expect(ends.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);

    const third = await postFor(app.url, `/v1/apps/${three.appId}/traces`, {
      headers: { 'Api-Key': three.key },
      body: { since, fields: ['name'] },
    });
    expect(third.status).toBe(200);
    for (const response of others) response.destroy();
    await eventually(async () => (await open(first, await createKey(first))).statusCode === 200);
  });
});
