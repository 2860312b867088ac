import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpAdapter } from '../../src/platform/http/http.adapter.js';
import { TestApp } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { Tenant } from '../setup/tenant.js';

const MIB = 1024 * 1024;
const MAX_UNREAD = 24 * MIB;
const ROWS = 400;
/** Far more than the buffers of a connection hold, together. */
const URL_BYTES = 25_000;
const TOO_SLOW = 'it takes fewer than 20000 bytes a second';

describe('clients that read their responses slowly', () => {
  let app: TestApp;
  let tenants: Tenant[];
  let responses: IncomingMessage[] = [];
  const start = Date.now() - 3_600_000;

  beforeAll(async () => {
    app = await TestApp.start({
      MAX_UNREAD_RESPONSES_MB: String(MAX_UNREAD / MIB),
      RESPONSE_MIN_KB_PER_SECOND: '20',
      RATE_LIMIT_PER_MINUTE: '1000',
    });
    tenants = [await Tenant.create(app), await Tenant.create(app)];
    const url = `https://x/${'y'.repeat(URL_BYTES)}`;
    for (const tenant of tenants)
      await tenant.write(...Array.from({ length: ROWS }, (_, index) => ({ timestamp: start + index, url })));
  });

  afterEach(async () => {
    for (const response of responses) response.destroy();
    responses = [];
    await eventually(() => unreadBytes() === 0);
  });

  afterAll(() => app.stop());

  const unreadBytes = () => (app.app.getHttpAdapter() as HttpAdapter).readers.unreadBytes;

  /** Sends a request and reads no body. */
  async function open({ key, appId }: Tenant, resource: string, body?: object): Promise<IncomingMessage> {
    const headers = { 'Api-Key': key };
    const outgoing = request(`${app.url}/v1/apps/${appId}/${resource}`, {
      method: body ? 'POST' : 'GET',
      agent: false,
      headers,
    });
    outgoing.end(body && JSON.stringify(body));
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    incoming.on('error', () => undefined);
    responses.push(incoming);
    return incoming;
  }

  const page = (tenant: Tenant) => open(tenant, `request-logs?limit=${ROWS}`);
  const exported = (tenant: Tenant) =>
    open(tenant, 'request-logs', { since: new Date(start).toISOString(), fields: ['url'] });

  it('get 429 for more than a part of the memory, and thirty unread answers stay within it', async () => {
    const [one] = tenants as [Tenant];
    const statuses = [];
    for (let count = 0; count < 30; count += 1) {
      const response = await page(one);
      statuses.push(response.statusCode);
      if (response.statusCode === 429) expect(response.headers['retry-after']).toBe('1');
      expect(unreadBytes()).toBeLessThanOrEqual(MAX_UNREAD);
    }
    expect(statuses).toEqual([200, 200, ...Array<number>(28).fill(429)]);
    const [first] = responses as [IncomingMessage];
    expect((await buffer(first)).length).toBe(Number(first.headers['content-length']));
    expect((await page(one)).statusCode).toBe(200);
  });

  it('make room for another team', async () => {
    const [one, two] = tenants as [Tenant, Tenant];
    const mine = [await page(one), await page(one)];
    const other = await page(two);
    expect(other.statusCode).toBe(200);
    expect((await buffer(other)).length).toBe(Number(other.headers['content-length']));
    const ends = await Promise.allSettled(mine.map((response) => buffer(response)));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('lose their connection below the least rate, whatever the response is; others are whole', async () => {
    const [one, two] = tenants as [Tenant, Tenant];
    const slow = [await page(one), await exported(one), await page(two)];
    const steady = await exported(two);
    expect([...slow, steady].map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    const cutOff = new AbortController();
    const cut = eventually(() => app.logged.split(TOO_SLOW).length > slow.length, 110_000).finally(() => {
      cutOff.abort();
    });
    // A tenth of the least rate.
    const reading = (async () => {
      while (!cutOff.signal.aborted) {
        for (const response of slow) response.read(2_000);
        await pause(1_000);
      }
    })();
    let length = 0;
    for await (const chunk of steady as AsyncIterable<Buffer>) {
      length += chunk.length;
      await pause(chunk.length / 200);
    }
    expect(length).toBeGreaterThan(ROWS * URL_BYTES);
    await Promise.all([cut, reading]);
    const ends = await Promise.allSettled(slow.map((response) => buffer(response)));
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  }, 150_000);
});
