import { readdirSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { DashboardPage, startProxy } from '../browser/dashboard-page.js';
import { TestApp } from '../setup/app.js';
import { describeWithChromium, launchBrowser } from '../setup/browser.js';
import { AUTHENTICATED_HEADERS, REQUIRED_HEADERS, detail, seen } from '../setup/contract.js';
import { document } from '../setup/document.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

const PREFIX = '/tools/request-analytics';
const NOT_FOUND = { status: 404, text: detail('Not Found'), headers: REQUIRED_HEADERS };
const NOT_ALLOWED = { status: 405, text: detail('Method Not Allowed'), headers: REQUIRED_HEADERS };

describe('PUBLIC_PATH', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start({ PUBLIC_PATH: PREFIX, CORS_ORIGINS: 'https://a.example' });
    tenant = await Tenant.create(app);
    await tenant.write({}, {});
  });
  afterAll(async () => {
    closeConnections();
    await app.stop();
  });

  const send = (path: string, headers: Record<string, string> = {}, body?: object) =>
    sendRaw(app.url, path, {
      headers: { 'Api-Key': tenant.key, ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  const documentAt = async (url: string) => JSON.parse((await sendRaw(url, `${PREFIX}/openapi.json`)).text);

  it('serves each operation of the document below it, and none at the root', async () => {
    const { paths, servers } = await documentAt(app.url);
    expect(servers).toEqual([{ url: PREFIX, description: expect.any(String) }]);
    expect(Object.keys(paths).sort()).toEqual(Object.keys(document.paths).sort());
    const logs = await send(`${PREFIX}/v1/apps/${tenant.appId}/request-logs`);
    const [{ request_uuid }] = JSON.parse(logs.text).data;
    for (const [path, operations] of Object.entries<object>(paths)) {
      const target = path.replace('{app_id}', String(tenant.appId)).replace('{request_uuid}', request_uuid);
      for (const method of Object.keys(operations)) {
        const since = new Date(Date.now() - 60_000).toISOString();
        const required = path.endsWith('/metrics')
          ? { metrics: ['requests'] }
          : path.endsWith('/changes') && { measure: 'requests' };
        const body = method === 'post' ? { since, ...required } : undefined;
        const found = await send(PREFIX + target, { 'Content-Type': 'application/json' }, body);
        expect([method, target, found.status]).toEqual([method, target, 200]);
        expect(seen(await send(target, {}, body))).toEqual(NOT_FOUND);
      }
    }
  });

  it('checks the key before it responds 404 below it, and reads parameters of the path', async () => {
    expect(seen(await send(`${PREFIX}/v1/nothing`))).toEqual({
      ...NOT_FOUND,
      headers: AUTHENTICATED_HEADERS,
    });
    expect((await sendRaw(app.url, `${PREFIX}/v1/nothing`)).status).toBe(401);
    const refused = await send(`${PREFIX}/v1/apps/%zz/traffic`, { Accept: 'application/problem+json' });
    expect([refused.status, refused.headers['content-type']]).toEqual([422, 'application/problem+json']);
    expect(JSON.parse(refused.text).errors).toMatchObject([{ loc: ['path', 'app_id'] }]);
    const posted = await sendRaw(app.url, `${PREFIX}/v1/team`, {
      method: 'POST',
      headers: { 'Api-Key': tenant.key },
    });
    expect(seen(posted)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it('links to the next page, and keeps what conditional and preflight requests get', async () => {
    const list = `${PREFIX}/v1/apps/${tenant.appId}/request-logs`;
    const { headers } = await send(`${list}?limit=1`);
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(String(headers.link)) ?? [];
    const { pathname, search } = new URL(next, `${app.url}${list}`);
    expect(pathname).toBe(list);
    expect(JSON.parse((await send(pathname + search)).text).data).toHaveLength(1);
    const day = `${PREFIX}/v1/apps/${tenant.appId}/traffic?start=2026-01-01&end=2026-01-02`;
    const { etag } = (await send(day)).headers;
    expect((await send(day, { 'If-None-Match': String(etag) })).status).toBe(304);
    const preflight = await sendRaw(app.url, list, {
      method: 'OPTIONS',
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
    });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([
      204,
      'https://a.example',
    ]);
  });

  it('has the dashboard, its files and the reference below it, and nothing of them at the root', async () => {
    const page = await sendRaw(app.url, `${PREFIX}/`);
    expect([page.status, page.headers['cache-control']]).toEqual([200, 'no-cache']);
    expect(page.text).toContain('name="docs" content="on"');
    const [asset] = readdirSync('dist/dashboard/assets');
    const paths = [`/assets/${asset}`, '/docs', '/docs/swagger-ui.css', '/openapi.json'];
    for (const path of paths) {
      expect([path, (await sendRaw(app.url, PREFIX + path)).status]).toEqual([path, 200]);
      expect([path, seen(await sendRaw(app.url, path))]).toEqual([path, NOT_FOUND]);
    }
    for (const path of ['/', '/tools', '/tools/', `${PREFIX}x/`, `/x${PREFIX}/`])
      expect([path, seen(await sendRaw(app.url, path))]).toEqual([path, NOT_FOUND]);
    expect((await sendRaw(app.url, `${PREFIX}/docs`)).headers['content-security-policy']).toMatch(
      /default-src 'none'/,
    );
  });

  it('serves agents below it, with the check of Origin', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { 'Content-Type': 'application/json' };
    const tools = await send(`${PREFIX}/mcp`, headers, list);
    expect([tools.status, JSON.parse(tools.text).result.tools.length]).toEqual([200, 6]);
    const refused = await send(`${PREFIX}/mcp`, { ...headers, Origin: 'https://stranger.example' }, list);
    expect([refused.status, refused.text]).toEqual([403, detail('Origin not allowed')]);
    const { text } = await send(`${PREFIX}/llms.txt`);
    for (const [, link = ''] of text.matchAll(/\]\(([^)]+)\)/g))
      expect([link, (await send(new URL(link, `${app.url}${PREFIX}/llms.txt`).pathname)).status]).not.toEqual(
        [link, 404],
      );
    for (const path of ['/mcp', '/llms.txt'])
      expect([path, seen(await send(path, headers, list))]).toEqual([path, NOT_FOUND]);
  });

  it.each([
    ['', './request-analytics/'],
    ['?range=7d&path=/a', './request-analytics/?range=7d&path=/a'],
  ])('leads from its address without the slash to the page: %s', async (query, location) => {
    const { status, headers } = await sendRaw(app.url, PREFIX + query);
    expect([status, headers.location]).toEqual([302, location]);
  });

  it('leaves the health checks at the root', async () => {
    for (const path of ['/health/live', '/health/ready']) {
      expect((await sendRaw(app.url, path)).status).toBe(200);
      expect(seen(await sendRaw(app.url, path, { method: 'POST' }))).toMatchObject({
        ...NOT_ALLOWED,
        headers: { allow: 'GET, HEAD' },
      });
      expect(seen(await sendRaw(app.url, PREFIX + path))).toEqual(NOT_FOUND);
    }
  });

  describeWithChromium('in a browser', () => {
    let browser: Browser;

    beforeAll(async () => {
      browser = await launchBrowser();
    });
    afterAll(() => browser.close());

    it.each(['', '/proxy'])(
      'has a dashboard and a reference that work, behind the path %s of a proxy',
      async (outer) => {
        const proxy = await startProxy(app.url, outer);
        const dashboard = await DashboardPage.open(browser, app);
        const { page } = dashboard;
        const place = outer + PREFIX;
        await page.goto(`${proxy.origin}${place}?range=1h#key=${tenant.key}`);
        await dashboard.loaded();
        expect(await page.locator('.totals dd').first().innerText()).toMatch(/^2/);
        await page.getByRole('link', { name: 'Requests' }).click();
        await page.locator('.log-table tbody a').first().click();
        await page.locator('.summary').waitFor();
        expect(dashboard.url.pathname).toBe(`${place}/`);
        expect(dashboard.calls.filter(({ path }) => !path.startsWith(`${place}/v1/`))).toEqual([]);
        await page.getByRole('button', { name: 'Help' }).click();
        await page.getByRole('link', { name: 'Reference of the API' }).click();
        await page.locator('.opblock').first().waitFor();
        expect(dashboard.url.pathname).toBe(`${place}/docs`);
        await dashboard.leave();
        proxy.close();
      },
    );
  });

  it('is in the document that the command prints', async () => {
    const { code, out } = await ProductProcess.run(['openapi'], { PUBLIC_PATH: PREFIX });
    expect(code).toBe(0);
    expect(JSON.parse(out.join('\n'))).toEqual(await documentAt(app.url));
  });
});

it('PUBLIC_PATH leads to the reference without the dashboard', async () => {
  const other = await TestApp.start({ PUBLIC_PATH: PREFIX, DASHBOARD: 'off' });
  for (const path of [PREFIX, `${PREFIX}/`]) {
    const { status, headers } = await sendRaw(other.url, path);
    expect([path, status, headers.location]).toEqual([path, 302, `${PREFIX}/docs`]);
  }
  await other.stop();
});
