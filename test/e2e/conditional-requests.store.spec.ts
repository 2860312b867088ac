import * as zlib from 'node:zlib';
import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { type HttpResponse, conforms } from '../setup/conforms.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

const HOUR_MS = 3_600_000;
const ONE_HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
const iso = (ms: number) => new Date(ms).toISOString();
const PAST = `start=${iso(ONE_HOUR)}&end=${iso(ONE_HOUR + HOUR_MS)}`;
const SETTLED = 'private, no-cache';
/** Absent before Node.js 22.15. */
const HAS_ZSTD = 'createZstdCompress' in zlib;

let app: TestApp;
let tenant: Tenant;
let uuid: string;

beforeAll(async () => {
  app = await TestApp.start();
  tenant = await Tenant.create(app);
  const records = await tenant.write(
    ...Array.from({ length: 40 }, (_, index) => ({ timestamp: ONE_HOUR + index * 60_000 })),
  );
  uuid = records[0]!.request_uuid;
});

afterEach(releaseClock);
afterAll(async () => {
  closeConnections();
  await app.stop();
});

/** A read below the app, held against the document. */
async function read(
  resource: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<HttpResponse> {
  const path = `/v1/apps/${tenant.appId}/${resource}`;
  const response = await sendRaw(app.url, path, { method, headers: { 'Api-Key': tenant.key, ...headers } });
  if (!('content-encoding' in response.headers)) conforms(path.split('?', 1)[0]!, method)(response);
  return response;
}

const getTag = ({ headers }: HttpResponse) => String(headers.etag);

describe('a read whose window lies in the past', () => {
  it.each([
    ['request-logs', () => `request-logs?${PAST}`],
    ['traffic by hour', () => `traffic?${PAST}`],
    ['request-logs before the retention', () => 'request-logs?start=2000-01-01&end=2000-01-02'],
    ['traffic before the retention', () => 'traffic?start=2000-01-01&end=2000-01-02'],
    ['the details of a request', () => `request-logs/${uuid}`],
  ])('is 304 without a body when the client has its ETag: %s', async (_, resource) => {
    const first = await read(resource());
    expect(first).toMatchObject({ status: 200, headers: { 'cache-control': SETTLED } });
    expect(getTag(first)).toMatch(/^"[\w-]{43}"$/);
    const again = await read(resource(), { 'If-None-Match': `"other", ${getTag(first)}` });
    expect([again.status, again.text]).toEqual([304, '']);
    const repeated = ['etag', 'cache-control', 'vary', 'link'];
    for (const name of repeated) expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
    expect(again.headers).not.toHaveProperty('content-type');
  });

  it.each(['request-logs', 'traffic'])(
    'has the same ETag later, also where the retention cuts the window and there is a next page: %s',
    async (resource) => {
      const older = await tenant.sibling();
      await older.write({ timestamp: ONE_HOUR - 2 * HOUR_MS }, { timestamp: ONE_HOUR - HOUR_MS });
      const past = `start=2000-01-01&end=${iso(ONE_HOUR)}`;
      const get = (query: string) =>
        sendRaw(app.url, `/v1/apps/${older.appId}/${resource}?${query}`, {
          headers: { 'Api-Key': older.key },
        });
      const now = holdClock();
      const first = await get(`${past}&limit=1`);
      const { next_token } = JSON.parse(first.text) as { next_token: string };
      const last = await get(`next_token=${next_token}`);
      holdClock(now + 1_000);
      const again = await get(`${past}&limit=1`);
      expect([again.status, again.text]).toEqual([200, first.text]);
      expect(getTag(again)).toBe(getTag(first));
      expect(getTag(await get(`next_token=${next_token}`))).toBe(getTag(last));
    },
  );

  it('has another ETag once late data arrived in it', async () => {
    const late = await tenant.sibling();
    const path = `/v1/apps/${late.appId}/traffic?${PAST}`;
    const get = (headers = {}) => sendRaw(app.url, path, { headers: { 'Api-Key': late.key, ...headers } });
    await late.write({ timestamp: ONE_HOUR });
    const before = await get();
    await late.write({ timestamp: ONE_HOUR + 1 });
    const after = await get({ 'If-None-Match': getTag(before) });
    expect(after.status).toBe(200);
    expect(getTag(after)).not.toBe(getTag(before));
    expect(JSON.parse(after.text)).toMatchObject({ data: [{ requests: 2 }] });
  });

  it.each([
    ['gzip', true],
    ['br;q=0.5, identity', true],
    ['deflate', true],
    ['identity', false],
    ['gzip;q=0', false],
    ['zstd', HAS_ZSTD],
    ['gzip, deflate, br, zstd', true],
  ])(
    'has a weak ETag where the body may be compressed (%s), and a strong one elsewhere',
    async (sent, isWeak) => {
      const headers = { 'Accept-Encoding': sent };
      const response = await read(`request-logs?${PAST}`, headers);
      const strong = getTag(await read(`request-logs?${PAST}`));
      expect(getTag(response)).toBe(isWeak ? `W/${strong}` : strong);
      if (!isWeak) expect(response.headers).not.toHaveProperty('content-encoding');
      expect(response.headers.vary).toBe('Accept-Encoding');
      const again = await read(`request-logs?${PAST}`, { ...headers, 'If-None-Match': strong });
      expect([again.status, getTag(again)]).toEqual([304, getTag(response)]);
      const head = await read(`request-logs?${PAST}`, headers, 'HEAD');
      expect(getTag(head)).toBe(getTag(response));
    },
  );

  it('has a strong ETag where the body is too small to be compressed', async () => {
    const response = await read(`request-logs?${PAST}&limit=1`, { 'Accept-Encoding': 'gzip' });
    expect(getTag(response)).toMatch(/^"/);
  });

  it.each(['GET', 'HEAD'])('is 304 for any copy (*), and counted: %s', async (method) => {
    const before = await read(`traffic?${PAST}`);
    const response = await read(`traffic?${PAST}`, { 'If-None-Match': '*' }, method);
    expect(response.status).toBe(304);
    const used = (answer: HttpResponse) => Number(answer.headers['x-ratelimit-remaining']);
    expect(used(before) - used(response)).toBe(1);
  });

  it('is an error as without the header when it is invalid, or not the caller’s', async () => {
    const invalid = await read(`traffic?${PAST}&limit=0`, { 'If-None-Match': '*' });
    expect([invalid.status, invalid.headers['cache-control']]).toEqual([422, 'no-store']);
    const other = await Tenant.create(app);
    const path = `/v1/apps/${tenant.appId}/request-logs/${uuid}`;
    const foreign = await sendRaw(app.url, path, { headers: { 'Api-Key': other.key, 'If-None-Match': '*' } });
    expect([foreign.status, foreign.headers.etag]).toEqual([404, undefined]);
  });
});

describe('a read that changes with time', () => {
  it.each([
    'request-logs',
    `request-logs?start=${iso(ONE_HOUR)}`,
    `request-logs?end=${iso(Date.now() + HOUR_MS)}`,
    'traffic',
    'request-logs?start=2090-01-01&end=2090-01-02',
    'traffic?start=2090-01-01&end=2090-01-02',
    `traffic?interval=day&timezone=Etc/GMT&end=${iso(Date.now() - 1)}`,
    'consumers',
    'endpoints',
  ])('has no ETag and is not stored: %s', async (resource) => {
    const response = await read(resource, { 'If-None-Match': '*' });
    expect([response.status, response.headers.etag, response.headers['cache-control']]).toEqual([
      200,
      undefined,
      'no-store',
    ]);
  });
});

describe('the Link of a page', () => {
  /** All items by following `Link` from page to page. */
  async function follow(resource: string): Promise<unknown[]> {
    const items: unknown[] = [];
    // A proxy that serves the API under another path.
    let url: URL | undefined = new URL(`https://proxy.example/analytics/v1/apps/${tenant.appId}/${resource}`);
    while (url) {
      const { text, headers } = await read(url.href.slice(url.href.indexOf(resource.split('?', 1)[0]!)));
      const { data, next_token } = JSON.parse(text) as { data: unknown[]; next_token?: string };
      items.push(...data);
      const [, target]: (string | undefined)[] = /^<(.*)>; rel="next"$/.exec(String(headers.link)) ?? [];
      expect(target !== undefined).toBe(next_token !== undefined);
      const previous: URL = url;
      url = target === undefined ? undefined : new URL(target, previous);
      expect(url?.pathname ?? previous.pathname).toBe(previous.pathname);
    }
    return items;
  }

  it.each([
    [`request-logs?${PAST}&limit=7`, 40],
    ['request-logs?limit=7', 40],
    [`request-logs?path=%2F*&method=get%2Cpost&limit=19&unknown=a%20b&%C3%A9=%C3%A9`, 40],
    [`request-logs?path=/*&limit=19&unknown="<>\\^{|}`, 40],
  ])('leads to all records, also behind a proxy with another path: %s', async (resource, count) => {
    const items = (await follow(resource)) as { request_uuid: string }[];
    expect(new Set(items.map(({ request_uuid }) => request_uuid)).size).toBe(count);
    expect(items).toHaveLength(count);
  });

  it('leads to all consumers and periods', async () => {
    const other = await tenant.sibling();
    await other.write(
      ...Array.from({ length: 5 }, (_, index) => ({
        timestamp: ONE_HOUR - index * HOUR_MS,
        consumer: { identifier: `c${index}` },
      })),
    );
    const original = tenant;
    tenant = other;
    try {
      expect(await follow('consumers?limit=2')).toHaveLength(5);
      expect(await follow('traffic?interval=hour&limit=2')).toHaveLength(5);
    } finally {
      tenant = original;
    }
  });
});
