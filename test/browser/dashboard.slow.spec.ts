import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import type { Alert } from '../../src/api/alerts/alerts.dto.js';
import { seedDemo } from '../../src/entry/demo/seed.js';
import { Config } from '../../src/config/config.js';
import { evaluateAlerts } from '../setup/alerts.js';
import { TestApp } from '../setup/app.js';
import { describeWithChromium, launchBrowser } from '../setup/browser.js';
import { eventually } from '../setup/eventually.js';
import { readHar } from '../setup/har.js';
import { Tenant } from '../setup/tenant.js';
import { buildRequest } from '../factories/request.factory.js';
import { DashboardPage, shellWords } from './dashboard-page.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TAIL_MS = 5000;
const TAIL_ROWS = 1000;
const RELEASE = '3.1.0';
const MAX_REQUESTS = 12;
/** The chart, and totals and tables with what they are compared with, apart from the statuses. */
const CLOSED_REQUESTS = 8;
/** The address that `SENTRY_URL` has. */
const SENTRY = 'https://sentry.example.com/organizations/acme';
/** A browser calls a sum below 0.1 good. */
const MAX_SHIFT = 0.05;

interface ShownError {
  fingerprint: string;
  type: string;
  message: string;
  env: string;
  first_seen: string;
  errors: number;
  consumers: number;
  request_uuid: string;
  sentry_event_id: string | null;
}

const parseLines = <Row>(text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);

interface Details {
  request_uuid: string;
  exception: { message: string; stacktrace: string } | null;
  logs: { message: string }[];
  spans: { name: string }[];
}

describeWithChromium('the dashboard on the demo', () => {
  let app: TestApp;
  let browser: Browser;
  let key: string;
  let appId: number;
  let dashboard: DashboardPage;
  /** A request with everything captured. */
  let failed: Details;
  /** The most frequent error. */
  let error: ShownError;

  beforeAll(async () => {
    app = await TestApp.start({ SENTRY_URL: `${SENTRY}/` });
    const now = Date.now();
    // The sample begins where its app does.
    const begins = now - 95 * 24 * HOUR_MS;
    const { id } = await app.admin.teams.create('Demo', 'premium', begins);
    await app.admin.apps.create(id, 'Shop API', 'express', begins);
    ({ key, appId } = await seedDemo(app.store, new Config({}), now));
    await app.admin.releases.mark(appId, RELEASE, { env: 'prod', at: now - 30 * HOUR_MS });
    const rule = { metric: 'error_rate', value: 0.001, window: '1d', method: 'get', path: '/v1/*' };
    await app.alerts.create({ app: appId }, 'errors', rule, { email: 'ops@example.com' });
    await evaluateAlerts(app);
    browser = await launchBrowser();
    const start = new Date(Date.now() - 14 * 24 * HOUR_MS).toISOString();
    const query = { status_code: '500', start, limit: 1000 };
    const { body } = await app.get(`/v1/apps/${appId}/request-logs`, key, query);
    for (const { request_uuid } of body.data as Details[]) {
      const found = await app.get(`/v1/apps/${appId}/request-logs/${request_uuid}`, key);
      failed = found.body as Details;
      if (failed.exception && failed.spans.length > 1 && failed.logs.length > 1) break;
    }
    const { text } = await app.post(`/v1/apps/${appId}/errors`, key, { since: start });
    [error] = parseLines<ShownError>(text) as [ShownError];
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    await app.stop();
  });
  beforeEach(async () => {
    dashboard = await DashboardPage.renew(browser, app, dashboard);
  });
  afterEach(async () => {
    await dashboard.leave();
    expect(dashboard.complaints).toEqual([]);
  });

  // One view has the hundred requests of a page; the others have fewer, because axe-core takes a second for
  // a hundred.
  const VIEWS = [
    ['overview', ''],
    ['overview-table', '?chart=table&range=7d'],
    ['overview-filtered', '?range=30d&method=GET&status=4xx,5xx'],
    ['overview-changes', '?range=7d&changed=response_time'],
    ['overview-changes-release', '?range=7d&changed=response_time&release=3.1.0'],
    ['overview-week', '?range=week&compare=week&interval=day'],
    ['overview-nothing', '?path=/nothing'],
    ['requests', '?view=requests'],
    ['requests-search', '?view=requests&range=7d&url=orders&slower=100&status=4xx,5xx'],
    ['requests-old', '?view=requests&range=90d&status=504'],
    ['requests-nothing', '?view=requests&path=/nothing'],
    ['inventory', '?view=inventory'],
    ['request', '?view=requests&range=30d&status=500&request=FAILED'],
    ['request-headers', '?view=requests&range=30d&id=FAILED&request=FAILED&tab=request'],
    ['request-logs', '?view=requests&range=30d&id=FAILED&request=FAILED&tab=logs'],
    ['request-spans', '?view=requests&range=30d&id=FAILED&request=FAILED&tab=spans'],
    ['request-unknown', '?view=requests&status=5xx&request=00000000-0000-4000-8000-000000000000'],
    ['errors', '?view=errors&range=7d'],
    ['errors-nothing', '?view=errors&path=/nothing'],
    ['error', '?view=errors&range=7d&error=ERROR'],
    ['error-unknown', '?view=errors&error=0000000000000000-prod'],
    ['instances-nothing', '?view=instances'],
    ['alerts', '?view=alerts'],
  ] as const;
  const fillSearch = (search: string) =>
    search.replaceAll('FAILED', failed.request_uuid).replace('ERROR', `${error.fingerprint}-${error.env}`);

  it.each(VIEWS)(
    '%s does not move while it loads, has no findings of axe-core on a desk and a phone in light and dark, and fits phones',
    async (name, search) => {
      const { page } = dashboard;
      await dashboard.visit(fillSearch(search), key);
      expect(await dashboard.evaluate<number>('window.shifts')).toBeLessThan(MAX_SHIFT);
      await dashboard.expectAccessible(`dashboard-${name}`);
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 740 });
        await dashboard.screenshot(`dashboard-${name}-phone-${width}`);
        // The chart is drawn again after the change of the size.
        await eventually(() =>
          dashboard.evaluate<boolean>(`document.documentElement.scrollWidth === ${width} &&
            [...document.querySelectorAll('.logs .scroll')].every((box) => box.scrollWidth <= box.clientWidth) &&
            [...document.querySelectorAll('.path-filter input')].every((input) => input.clientWidth >= 140)`),
        );
      }
      // An unknown request is a 404, which browsers write to the console.
      if (name === 'request-unknown') dashboard.complaints.splice(0);
    },
  );

  it.each([
    [
      'overview',
      '',
      [
        ['range', /^Time range/],
        ['filter', 'Add a filter'],
        ['api', 'API request of Totals'],
        ['account', 'Account'],
      ],
    ],
    [
      'requests',
      '?view=requests&status=5xx',
      [
        ['columns', 'Columns'],
        ['values', 'Values to filter by'],
        ['export', 'Export'],
      ],
    ],
  ] as const)(
    'each box of the %s has no findings of axe-core on a desk and a phone in light and dark',
    async (_, search, boxes) => {
      const { page } = dashboard;
      await dashboard.visit(search, key);
      const selector = ':popover-open';
      for (const [name, button] of boxes)
        await dashboard.expectAccessible(`dashboard-box-${name}`, {
          selector,
          open: async () => {
            await page.getByRole('button', { name: button }).click();
            await page.locator(selector).waitFor();
          },
          close: async () => {
            await page.keyboard.press('Escape');
            await page.locator(selector).waitFor({ state: 'detached' });
          },
        });
    },
  );

  it('the help explains its words, without findings of axe-core on a desk and a phone in light and dark', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=alerts', key);
    const help = page.getByRole('dialog');
    const close = async () => {
      await page.keyboard.press('Escape');
      await help.waitFor({ state: 'hidden' });
    };
    await page.getByRole('button', { name: 'Help' }).click();
    const text = await help.innerText();
    for (const word of ['p50', 'p95', 'Apdex', 'No route', 'Keyboard']) expect(text).toContain(word);
    await close();
    await dashboard.expectAccessible('dashboard-help', {
      selector: 'dialog[open]',
      open: async () => {
        await page.keyboard.press('?');
        await help.waitFor();
      },
      close,
    });
  });

  it('says that nothing matches, in each panel', async () => {
    await dashboard.visit('?path=/nothing', key);
    for (const box of ['.traffic', '.top >> nth=0', '.top >> nth=1', '.top >> nth=2'])
      await dashboard.page.locator(box).getByText('No requests match the filters').waitFor();
    expect(await dashboard.page.locator('.totals dd').first().innerText()).toBe('0');
    expect(await dashboard.page.getByRole('alert').count()).toBe(0);
  });

  it('asks again only for what is not complete, and for nothing in a hidden tab', async () => {
    // Ten minutes later it is still the same hour, to which the list of consumers goes.
    const time = Math.floor((Date.now() - 20 * MINUTE_MS) / HOUR_MS) * HOUR_MS + 5 * MINUTE_MS;
    await dashboard.installClock(time);
    await dashboard.visit('', key);
    const series = () => dashboard.calls.flatMap(({ body }) => (body?.interval ? [String(body.since)] : []));
    expect(series()).toHaveLength(1);
    await dashboard.setVisibility('hidden');
    const before = dashboard.calls.length;
    await dashboard.page.clock.runFor(10 * MINUTE_MS);
    expect(dashboard.calls).toHaveLength(before);
    await dashboard.setVisibility('visible');
    await eventually(() => series().length === 2);
    const [first = '', second = ''] = series();
    expect(Date.parse(second) - Date.parse(first)).toBeGreaterThan(40 * HOUR_MS);
    await dashboard.loaded();
    // Names and apps were asked for once.
    expect(
      dashboard.calls.filter(({ method, path }) => method === 'GET' && !/\/(?:releases|alerts)/.test(path)),
    ).toHaveLength(2);
  });

  describe('a closed time', () => {
    const closed = '?from=2026-01-01T00:00Z&to=2026-01-02T00:00Z'.replaceAll('2026-01', lastMonth());
    const shown = () => dashboard.page.locator('main').innerText();
    /** Metrics and request logs that were asked for since the last call. */
    const takeAsked = () =>
      dashboard.calls.splice(0).filter(({ path }) => /\/(?:metrics|request-logs)/.test(path));

    it('is asked for once, also over a reload, until it is refreshed', async () => {
      const { page } = dashboard;
      await dashboard.visit(closed, key);
      expect(takeAsked()).toHaveLength(CLOSED_REQUESTS);
      const text = await shown();
      for (const link of ['Requests', 'Overview', 'Requests']) {
        await page.getByRole('link', { name: link }).click();
        await dashboard.loaded();
      }
      expect(takeAsked()).toHaveLength(1);
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.reload();
      await dashboard.loaded();
      expect(await shown()).toBe(text);
      expect(takeAsked()).toEqual([]);
      await page.getByRole('button', { name: 'Refresh' }).click();
      await dashboard.loaded();
      expect(takeAsked()).toHaveLength(CLOSED_REQUESTS);
      expect(await shown()).toBe(text);
    });

    it('is asked for again where it still runs, but for its periods that are complete', async () => {
      await dashboard.visit('?range=7d', key);
      const since = () => Date.parse(String(takeAsked().find(({ body }) => body?.interval)!.body!.since));
      const first = since();
      await dashboard.page.reload();
      await dashboard.loaded();
      expect(since() - first).toBeGreaterThan(13 * 24 * HOUR_MS);
      expect(await dashboard.page.locator('.plot canvas').count()).toBe(1);
    });

    it('leaves the tab with the key, and is not shown to another one', async () => {
      const { page } = dashboard;
      const kept = () => dashboard.evaluate<string[]>('Object.keys(sessionStorage).sort()');
      await dashboard.visit(closed, key);
      expect((await kept()).length).toBeGreaterThan(4);
      const { key: other } = await app.admin.keys.create((await app.team()).teamId);
      await page.goto('about:blank');
      await page.goto(`${dashboard.origin}/${closed}#key=${other}`);
      await page.getByText('There is no app yet').waitFor();
      expect(await kept()).toEqual(['/api-key']);
      await dashboard.visit(closed, key);
      await page.getByRole('button', { name: 'Account' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor();
      expect(await kept()).toEqual([]);
    });

    it('is kept as aggregates alone, and takes the room of what was used longest ago', async () => {
      const { page } = dashboard;
      await dashboard.visit(closed, key);
      await page.getByRole('link', { name: 'Requests' }).click();
      await dashboard.loaded();
      const values = await dashboard.evaluate<string[]>('Object.values(sessionStorage)');
      expect(values.join()).not.toMatch(/request_uuid|user-agent|https?:/i);
      const fill = async (name: string, length: number) =>
        dashboard.evaluate(`sessionStorage.setItem('${name}', 'x'.repeat(${length}))`);
      await fill('/old', 1_999_000);
      await dashboard.evaluate(`sessionStorage.setItem('/closed-periods', '[["old",1999000]]')`);
      await dashboard.visit(closed, key);
      expect(await dashboard.evaluate('sessionStorage.getItem("/old")')).toBeNull();
      // Of others at this origin: all that the browser gives.
      for (let length = 4_000_000; length > 10; length = Math.floor(length / 2))
        await fill(`other-${length}`, length).catch(() => undefined);
      await dashboard.visit(`${closed}&method=GET`, key);
      expect(await page.locator('.plot canvas').count()).toBe(1);
    });
  });

  it('filters by a click, and goes back and reloads by the URL', async () => {
    const { page } = dashboard;
    await dashboard.visit('?range=7d', key);
    const endpoint = page.locator('.top').first().locator('tbody button').first();
    const [method = '', path = ''] = (await endpoint.innerText()).split(/\s+/);
    await endpoint.click();
    await dashboard.loaded();
    expect(Object.fromEntries(dashboard.url.searchParams)).toEqual({ range: '7d', method, path });
    expect(await page.locator('.chip').allInnerTexts()).toEqual([
      expect.stringContaining(method),
      expect.stringContaining(path),
    ]);
    const consumer = page.locator('.top').nth(1).locator('tbody button').first();
    await consumer.click();
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('consumer')).toMatch(/^\d+$/);
    const shown = await page.locator('main').innerText();
    const drawn = await dashboard.drawing();
    await page.reload();
    await dashboard.loaded();
    expect(await page.locator('main').innerText()).toBe(shown);
    // The axes too: marks of the scale before the click would be wrong numbers.
    expect((await dashboard.drawing()) === drawn).toBe(true);
    await page.goBack();
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('consumer')).toBeNull();
    await page.getByRole('button', { name: 'Remove the filter path' }).click();
    expect(dashboard.url.searchParams.get('path')).toBeNull();
    await page.getByRole('button', { name: 'Clear' }).click();
    expect(dashboard.url.search).toBe('?range=7d');
  });

  it('keeps the # of an operation in the URL, in links and in what it asks', async () => {
    const { page } = dashboard;
    const tenant = await Tenant.create(app);
    const operation = { method: 'POST', path: '/mcp#tools/call/get_weather' };
    const timestamp = Date.now() - 600_000;
    await tenant.write({ ...operation, timestamp }, { path: '/mcp', method: 'POST', timestamp });
    await dashboard.visit('?range=24h', tenant.key);
    await page.locator('.top').first().locator('tbody button', { hasText: '#' }).click();
    await dashboard.loaded();
    const isOperation = () => {
      expect(Object.fromEntries(dashboard.url.searchParams)).toMatchObject(operation);
    };
    isOperation();
    expect(dashboard.url.hash).toBe('');
    await page.reload();
    await dashboard.loaded();
    isOperation();
    await page.getByRole('link', { name: 'Requests' }).click();
    await dashboard.loaded();
    isOperation();
    expect(await page.locator('.log-table tbody tr').count()).toBe(1);
    await page.locator('.log-table tbody a').click();
    await dashboard.loaded();
    await page.getByRole('link', { name: 'Same endpoint' }).click();
    await dashboard.loaded();
    isOperation();
  });

  it('sends each filter to both views', async () => {
    const { page } = dashboard;
    await dashboard.visit('?range=7d', key);
    await page.keyboard.press('/');
    await page.keyboard.type('orders');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Add a filter' }).click();
    await page.getByLabel('Codes').fill('404, 5XX');
    await page.getByLabel('Codes').press('Enter');
    await page.getByLabel('Environment').first().selectOption('prod');
    await dashboard.loaded();
    expect(Object.fromEntries(dashboard.url.searchParams)).toEqual({
      range: '7d',
      path: '*orders*',
      status: '404,5xx',
      env: 'prod',
    });
    const grouped = dashboard.calls.findLast(({ body }) => body?.group_by)!.body as {
      filters: { field: string }[];
    };
    expect(grouped.filters.map(({ field }) => field)).toEqual(['env', 'path', 'status_code']);
    await page.getByRole('link', { name: 'Requests' }).click();
    await dashboard.loaded();
    const statuses = new Set(await page.locator('td.column-status').allInnerTexts());
    expect([...statuses].filter((status) => !/^(?:404|5\d\d)$/.test(status))).toEqual([]);
    expect(statuses.size).toBeGreaterThan(0);
  });

  it('zooms by a drag and by the keyboard, reads the chart aloud, and shows it as a table', async () => {
    const { page } = dashboard;
    await dashboard.visit('', key);
    const plot = page.locator('.plot .u-over');
    const { x, y, width, height } = (await plot.boundingBox())!;
    await page.mouse.move(x + width * 0.26, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.49, y + height / 2, { steps: 5 });
    await page.mouse.up();
    await dashboard.loaded();
    const range = () => ['from', 'to'].map((name) => Date.parse(dashboard.url.searchParams.get(name) ?? ''));
    const [from = 0, to = 0] = range();
    expect((to - from) / HOUR_MS).toBe(6);

    await page.goBack();
    await dashboard.loaded();
    await page.getByRole('application').focus();
    const spoken = page.locator('.chart [aria-live]');
    await page.keyboard.press('End');
    expect(await spoken.innerText()).toMatch(/\d\d:00, so far: /);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    expect(await spoken.innerText()).toMatch(/\d\d:00: [\d,]+ requests; [\d,]+ errors/);
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Enter');
    await dashboard.loaded();
    const [first = 0, last = 0] = range();
    expect((last - first) / HOUR_MS).toBe(3);

    await page.getByRole('button', { name: 'Table' }).click();
    expect(await page.locator('.points tbody tr').count()).toBe(180);
    expect(dashboard.url.searchParams.get('chart')).toBe('table');
  });

  it('walks through the request logs by the keyboard', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests', key);
    const times = await page.locator('.log-table tbody a').allInnerTexts();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('j');
    expect(await page.locator('.log-table [aria-current] ').innerText()).toBe(times[1]);
    await page.keyboard.press('Enter');
    await page.locator('.details .summary').waitFor();
    const opened = dashboard.url.searchParams.get('request');
    expect(await dashboard.evaluate(`document.activeElement.matches('.details h2')`)).toBe(true);
    await page.keyboard.press('j');
    await eventually(() => dashboard.url.searchParams.get('request') !== opened);
    await page.keyboard.press('Escape');
    expect(await dashboard.evaluate(`new URLSearchParams(location.search).get('request')`)).toBeNull();
    expect(await page.locator('.details').count()).toBe(0);
    expect(await page.locator('.log-table a:focus').innerText()).toBe(times[2]);
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog').innerText()).toContain('Filter by path');
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    expect(await page.locator('#path-filter:focus').count()).toBe(1);
  });

  it('loads page after page while it is scrolled, each request once', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&range=7d', key);
    const rows = page.locator('.log-table tbody tr');
    const count = await rows.count();
    expect(count).toBe(100);
    for (const target of [200, 300]) {
      await rows.last().scrollIntoViewIfNeeded();
      await eventually(async () => (await rows.count()) >= target);
    }
    const links = await dashboard.evaluate<string[]>(
      `[...document.querySelectorAll('.log-table tbody a')].map(({ href }) => href)`,
    );
    expect(new Set(links).size).toBe(links.length);
    expect(dashboard.calls.filter(({ path }) => path.includes('next_token='))).not.toEqual([]);
  });

  it('exports what is shown', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&status=5xx&range=7d&columns=time,status,path', key);
    const shown = await page.locator('.log-table tbody tr').count();
    expect(await page.locator('.log-table thead th').allInnerTexts()).toEqual(['Time', 'Status', 'Path']);
    await page.getByRole('button', { name: 'Export' }).click();
    const fileNames: string[] = [];
    for (const format of ['NDJSON', 'CSV', 'Parquet']) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: format, exact: true }).click();
      fileNames.push((await download).suggestedFilename());
      const file = await (await download).path();
      const bytes = readFileSync(file);
      if (format === 'Parquet') expect(bytes.subarray(0, 4).toString()).toBe('PAR1');
      else {
        const lines = bytes.toString().trim().split(/\r?\n/);
        expect(lines).toHaveLength(shown + (format === 'CSV' ? 1 : 0));
      }
      await page.getByText('Saved').waitFor();
    }
    const { body } = dashboard.calls.at(-1)!;
    expect(body).toMatchObject({ format: 'parquet', fields: ['timestamp', 'status_code', 'path'] });
    expect(fileNames).toEqual(
      ['ndjson', 'csv', 'parquet'].map((end) =>
        expect.stringMatching(`^shop-api_\\d{4}-\\d\\d-\\d\\d_\\d{4}-\\d\\d-\\d\\d\\.${end}$`),
      ),
    );
  });

  it('keeps the columns in the URL', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests', key);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Client' }).check();
    await page.getByRole('checkbox', { name: 'Path' }).uncheck();
    expect(dashboard.url.searchParams.get('columns')).toBe(
      'time,status,method,consumer,duration,sent,client',
    );
    expect(await page.locator('.log-table thead').innerText()).toMatch(/Client/);
  });

  it('shows new requests in the live tail, and asks nothing while hidden', async () => {
    const { page } = dashboard;
    await dashboard.installClock();
    await dashboard.visit('?view=requests&range=1h&tail=on', key);
    const path = '/tail/{id}';
    await app.writer.write(appId, [buildRequest({ path, timestamp: Date.now() })]);
    await page.clock.runFor(TAIL_MS);
    await page.locator('.log-table').getByText(path).waitFor();
    expect(await page.locator('.log-table tbody tr').first().innerText()).toContain(path);
    await dashboard.setVisibility('hidden');
    const before = dashboard.calls.length;
    await page.clock.runFor(20 * TAIL_MS);
    expect(dashboard.calls).toHaveLength(before);
  });

  it('loses no request in the live tail when more arrive at once than it reads', async () => {
    const { page } = dashboard;
    await dashboard.installClock();
    const path = '/burst/{id}';
    await dashboard.visit(`?view=requests&range=1h&tail=on&path=${path}`, key);
    // A log file has times in whole seconds: many requests share one.
    const at = Date.now();
    const burst = Array.from({ length: TAIL_ROWS + 200 }, (_, index) =>
      buildRequest({ path, timestamp: index < 500 ? at : at - 1000 }),
    );
    await app.writer.write(appId, burst);
    await page.clock.runFor(TAIL_MS);
    const rows = page.locator('.log-table tbody tr');
    await eventually(async () => (await rows.count()) === TAIL_ROWS);
    // Over a slow network the tail comes between any two pages.
    await page.route('**/request-logs?*', async (route) => {
      await pause(300);
      await route.continue();
    });
    await eventually(async () => {
      await rows.last().scrollIntoViewIfNeeded();
      await page.clock.runFor(TAIL_MS);
      return (await rows.count()) === burst.length;
    });
  });

  it('asks once for a page that fails, until the next try', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&range=7d', key);
    const nextPages = '**/request-logs?*next_token=*';
    await page.route(nextPages, (route) => route.fulfill({ status: 503, json: { detail: 'away' } }));
    const before = dashboard.calls.length;
    const rows = page.locator('.log-table tbody tr');
    await rows.last().scrollIntoViewIfNeeded();
    await page.getByRole('alert').filter({ hasText: 'temporarily unavailable' }).waitFor();
    // Without an end it asked 25 times a second.
    await pause(500);
    expect(dashboard.calls).toHaveLength(before + 1);
    await page.unroute(nextPages);
    await page.getByRole('button', { name: 'Try now' }).click();
    await eventually(async () => (await rows.count()) > 100);
    dashboard.complaints.splice(0);
  });

  it('keeps the live tail to a length, and loads what it pushed out again', async () => {
    const { page } = dashboard;
    await dashboard.installClock();
    await dashboard.visit('?view=requests&range=7d&tail=on', key);
    const rows = page.locator('.log-table tbody tr');
    const scrollTo = (target: number) =>
      eventually(async () => {
        await rows.last().scrollIntoViewIfNeeded();
        return (await rows.count()) >= target;
      });
    await scrollTo(TAIL_ROWS);
    await rows.first().scrollIntoViewIfNeeded();
    await dashboard.loaded();
    const before = await rows.count();
    const added = Array.from({ length: 5 }, () =>
      buildRequest({ path: '/pushes/{id}', timestamp: Date.now() }),
    );
    await app.writer.write(appId, added);
    await page.clock.runFor(TAIL_MS);
    await page.locator('.log-table').getByText('/pushes/{id}').first().waitFor();
    expect(await rows.count()).toBe(before);
    await scrollTo(before + 50);
    const shown = await dashboard.evaluate<string[]>(
      `[...document.querySelectorAll('.log-table tbody a')].map(({ href }) => new URL(href).searchParams.get('request'))`,
    );
    expect(new Set(shown).size).toBe(shown.length);
    const resource = `/v1/apps/${appId}/request-logs`;
    const query = { start: new Date(Date.now() - 6 * 24 * HOUR_MS).toISOString(), limit: 1000 };
    const { body: first } = await app.get(resource, key, query);
    const { body: second } = await app.get(resource, key, {
      ...query,
      next_token: first.next_token as string,
    });
    const newest = [...(first.data as Details[]), ...(second.data as Details[])].slice(0, before + 50);
    expect(newest.map(({ request_uuid }) => request_uuid).filter((uuid) => !shown.includes(uuid))).toEqual(
      [],
    );
  });

  it('shows all of one request, and others of its consumer, endpoint and trace', async () => {
    const { page } = dashboard;
    await dashboard.visit(fillSearch('?view=requests&range=30d&request=FAILED'), key);
    const panel = page.getByRole('tabpanel');
    expect(await panel.innerText()).toContain(failed.exception!.message);
    expect(await panel.innerText()).toContain(failed.exception!.stacktrace.split('\n')[1]!.trim());
    await page.getByRole('tab', { name: 'Exception' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(dashboard.url.searchParams.get('tab')).toBe('logs');
    for (const { message } of failed.logs) expect(await panel.innerText()).toContain(message);
    await page.getByRole('tab', { name: 'Spans' }).click();
    expect(await panel.locator('.spans summary .clip').allInnerTexts()).toEqual(
      expect.arrayContaining(failed.spans.map(({ name }) => name)),
    );
    expect(await panel.locator('svg rect').count()).toBe(failed.spans.length);
    await page.getByRole('tab', { name: 'Request' }).click();
    expect(await panel.innerText()).toMatch(/user-agent/);
    await page.getByRole('button', { name: 'Same trace' }).click();
    await page
      .locator('.trace')
      .getByText(/No other request|ms/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Same endpoint' }).click();
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('path')).not.toBeNull();
    expect(await page.locator('.log-table tr.selected').count()).toBe(1);
  });

  it('lists the errors of the API, and opens one with its days, stack trace, request and event', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=errors&range=7d', key);
    const { path, body } = dashboard.calls.find((call) => call.path.endsWith('/errors'))!;
    const rows = parseLines<ShownError>((await app.post(path, key, body)).text);
    expect(rows.length).toBeGreaterThanOrEqual(3);
    const cells = await dashboard.evaluate<string[][]>(
      `[...document.querySelectorAll('.log-table tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))`,
    );
    expect(
      cells.map(([name, env, errors, consumers]) => [name!.split('\n')[0], env, errors, consumers]),
    ).toEqual(
      rows.map(({ type, message, env, errors, consumers }) => [
        `${type} ${message}`,
        env,
        errors.toLocaleString('en'),
        consumers.toLocaleString('en'),
      ]),
    );
    const isNew = cells.map((row) => row.at(-2)!.startsWith('new '));
    expect(isNew).toEqual(rows.map(({ first_seen }) => first_seen >= String(body!.since)));
    expect(new Set(isNew).size).toBe(2);
    const opened = rows.findIndex(({ sentry_event_id }) => sentry_event_id !== null);
    const first = rows[opened]!;
    await page.locator('.log-table tbody a').nth(opened).click();
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('error')).toBe(`${first.fingerprint}-${first.env}`);
    expect(await dashboard.evaluate(`document.activeElement.matches('.details h2')`)).toBe(true);
    const facts = await page.locator('.details .facts').innerText();
    expect(facts).toContain(`Errors in this time\n${first.errors.toLocaleString('en')}\n`);
    expect(facts).toContain(`Consumers in this time\n${first.consumers}\n`);
    const days = dashboard.calls.findLast((call) => call.body?.group_by)!;
    const ofDays = parseLines<ShownError>((await app.post(days.path, key, days.body)).text);
    const total = ofDays.reduce((sum, { errors }) => sum + errors, 0);
    expect(total).toBeGreaterThanOrEqual(first.errors);
    await page.getByText(`Last 30 days: ${total.toLocaleString('en')}`).waitFor();
    expect(await page.getByRole('region', { name: 'Stack trace' }).innerText()).toContain(`${first.type}: `);
    const link = page.getByRole('link', { name: 'Open in Sentry' });
    expect(await link.getAttribute('href')).toBe(`${SENTRY}/issues/?query=${first.sentry_event_id}`);
    await page.getByRole('link', { name: 'Newest request' }).click();
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('request')).toBe(first.request_uuid);
    expect(await page.getByRole('tabpanel').innerText()).toContain(first.message);
    await page.goBack();
    await dashboard.loaded();
    await page.getByRole('link', { name: 'Requests with it' }).click();
    await dashboard.loaded();
    const statuses = await page.locator('td.column-status').allInnerTexts();
    expect([statuses.length > 0, [...new Set(statuses)]]).toEqual([true, ['500']]);
    await page.goBack();
    await page.locator('.details').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.details').waitFor({ state: 'detached' });
    expect(dashboard.url.search).toBe('?view=errors&range=7d');
  });

  it('links an exception of a request to its event', async () => {
    const { page } = dashboard;
    await dashboard.visit(`?view=requests&range=7d&request=${error.request_uuid}&tab=exception`, key);
    const { body } = await app.get(`/v1/apps/${appId}/request-logs/${error.request_uuid}`, key);
    const { sentry_event_id } = (body as { exception: { sentry_event_id: string | null } }).exception;
    const links = page.getByRole('link', { name: 'Open in Sentry' });
    expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual(
      sentry_event_id === null ? [] : [`${SENTRY}/issues/?query=${sentry_event_id}`],
    );
  });

  it('scrolls to the request of a link', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&range=7d', key);
    const link = await page.locator('.log-table tbody a').last().getAttribute('href');
    await dashboard.visit(link!.slice('./'.length), key);
    const list = await page.locator('.logs .scroll').boundingBox();
    await eventually(async () => {
      const row = await page.locator('.log-table tr.selected').boundingBox();
      return row !== null && row.y + row.height <= list!.y + list!.height;
    });
  });

  it('copies the request as a curl command that a shell takes, and saves it as an HTTP Archive', async () => {
    const { page } = dashboard;
    await dashboard.visit(fillSearch('?view=requests&range=30d&id=FAILED&request=FAILED'), key);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    const words = shellWords(await dashboard.evaluate<string>('window.copied'));
    expect(words.slice(0, 1)).toEqual(['-g']);
    expect(words.find((word) => word.startsWith('https://api.'))).toBeDefined();
    expect(words.filter((word) => word === '-H').length).toBeGreaterThan(2);

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download HAR' }).click();
    const file = await download;
    const [entry, ...others] = readHar(readFileSync(await file.path(), 'utf8'));
    expect([`${entry!._request_uuid}.har`, others]).toEqual([file.suggestedFilename(), []]);
    expect(entry!.request.headers.length).toBeGreaterThan(2);
  });

  it('shows the request behind each panel, which works with the key and without which it is not', async () => {
    const { page } = dashboard;
    await dashboard.visit('?range=7d&method=GET', key);
    const buttons = page.getByRole('button', { name: /^API request of/ });
    expect(await buttons.count()).toBe(5);
    for (const button of await buttons.all()) {
      await button.click();
      await page.getByRole('button', { name: 'Copy as curl' }).click();
      await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
      const text = await dashboard.evaluate<string>('window.copied');
      expect(text).not.toContain(key);
      const [silent, url = '', flag, header, ...rest] = shellWords(`API_KEY=secret; ${text}`);
      expect([silent, flag, header]).toEqual(['-s', '-H', 'Api-Key: secret']);
      const { status } = await app.post(new URL(url).pathname, key, rest.at(-1)!);
      expect(status).toBe(200);
      await page.keyboard.press('Escape');
    }
  });

  it('has no animation for those who want none', async () => {
    const moving = async (reducedMotion: 'reduce' | 'no-preference') => {
      await dashboard.leave();
      dashboard = await DashboardPage.open(browser, app, { reducedMotion });
      // The page while its data is on the way.
      await dashboard.page.route('**/metrics', () => undefined);
      await dashboard.page.goto(`${dashboard.origin}/#key=${key}`);
      await dashboard.page.locator('.placeholder').first().waitFor();
      return dashboard.evaluate<number>('document.getAnimations().length');
    };
    expect(await moving('no-preference')).toBeGreaterThan(0);
    expect(await moving('reduce')).toBe(0);
  });

  it('shows the figures of the API in at most 12 requests, and compares each and the rows of the tables with the time before', async () => {
    const { page } = dashboard;
    await dashboard.visit('?range=7d', key);
    expect(dashboard.calls.length).toBeLessThanOrEqual(MAX_REQUESTS);
    const totals = dashboard.calls.find(({ body }) => body && !body.interval && !body.group_by)!;
    const { text } = await app.post(totals.path, key, totals.body);
    const { requests } = JSON.parse(text) as { requests: number };
    expect(requests).toBeGreaterThan(1000);
    const tile = await page.locator('.totals dd').first().innerText();
    expect(Number(/^[\d,]+/.exec(tile)![0].replace(',', ''))).toBe(requests);
    expect(await page.getByText('Response time, p95').getAttribute('title')).toMatch(/95 of 100/);
    // An Apdex that did not change, and a percentile in the same bin, is shown alone. The data of the demo
    // depend on the time of day.
    const cards = await page.locator('.totals dd').allInnerTexts();
    for (const card of cards) expect(card).toMatch(/[▲▼] [\d.]+ %|^[01]\.\d\d$|^[\d.]+ m?s$/);
    expect(cards.filter((card) => /[▲▼]/.test(card)).length).toBeGreaterThanOrEqual(3);
    const search = page.locator('.top').first().locator('tr').filter({ hasText: '/v1/search' });
    expect(await search.locator('td').first().innerText()).toMatch(/[▲▼]/);
    // A single p95 may be in the same bin as before.
    const ends = page.locator('.top').first().locator('tbody td:last-child');
    expect((await ends.allInnerTexts()).join()).toMatch(/[▲▼]/);
    const [now, before] = ['since', 'until'].map((name) =>
      dashboard.calls.flatMap(({ body }) => (body?.group_by ? String(body[name]) : [])),
    );
    expect(new Set(now).size).toBe(2);
    expect(before!.filter((until) => until !== 'undefined')).toHaveLength(2);
    await page.getByRole('button', { name: /^Time range/ }).click();
    await page.getByLabel('Same days of last week').check();
    await page.keyboard.press('Escape');
    expect(dashboard.url.searchParams.get('compare')).toBe('week');
  });

  it('says what changed: the same endpoint, shares and numbers as the API', async () => {
    const { page } = dashboard;
    await dashboard.visit('?range=7d', key);
    await page.getByRole('button', { name: 'What changed?' }).click();
    await page.getByLabel('Measure').selectOption('response_time');
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('changed')).toBe('response_time');
    const { path, body } = dashboard.calls.findLast((call) => call.path.endsWith('/changes'))!;
    const { text } = await app.post(path, key, body);
    const { data, total } = JSON.parse(text) as {
      data: { path: string; share: number }[];
      total: { now: number };
    };
    const { path: first, share } = data[0]!;
    const shown = await page.locator('.changes table').first().locator('tbody tr').first().innerText();
    expect(shown).toContain(first);
    // From 100 % on without decimals.
    expect(shown).toContain(`${(share * 100).toFixed(Math.abs(share) < 0.9995 ? 1 : 0)} %`);
    expect(total.now).toBeGreaterThan(0);
    await page.locator('.changes').getByRole('button', { name: first }).click();
    expect(dashboard.url.searchParams.get('path')).toBe(first);
  });

  it('has releases in the chart, in words and in its table, and compares since one as the API does', async () => {
    const { page } = dashboard;
    await dashboard.visit('?range=7d', key);
    const { body } = await app.get(`/v1/apps/${appId}/releases`, key, { limit: 1 });
    const [{ first_seen }] = body.data as [{ first_seen: string }];
    const words = page.locator('.marks span', { hasText: /^Release/ });
    expect(await words.first().innerText()).toMatch(/^Release: 3\.1\.0 \(prod\) \d+ \w+, \d\d:\d\d$/);
    await page.locator('.plot').focus();
    await page.keyboard.press('End');
    const spoken = page.locator('.chart [aria-live]');
    for (let hour = 0; hour < 40 && !(await spoken.innerText()).includes('release'); hour++)
      await page.keyboard.press('ArrowLeft');
    expect(await spoken.innerText()).toContain('release 3.1.0 in prod');
    await page.getByRole('button', { name: 'As table' }).click();
    expect(await page.locator('.points tbody th', { hasText: 'release 3.1.0 in prod' }).count()).toBe(1);
    await page.getByRole('button', { name: 'What changed?' }).click();
    await page.getByLabel('Compared with').selectOption('since the release 3.1.0');
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('release')).toBe(RELEASE);
    const asked = dashboard.calls.findLast((call) => call.path.endsWith('/changes'))!;
    expect(asked.body).toEqual({ measure: 'requests', since_release: RELEASE, limit: 5 });
    const { data, window } = JSON.parse((await app.post(asked.path, key, asked.body)).text) as {
      data: { path: string }[];
      window: { since: string };
    };
    expect(Date.parse(window.since)).toBe(Math.floor(Date.parse(first_seen) / MINUTE_MS) * MINUTE_MS);
    const shown = page.locator('.changes');
    expect(await shown.locator('tbody tr').first().innerText()).toContain(data[0]!.path);
    expect(await shown.innerText()).toContain('as long before the release 3.1.0');
  });

  it('shows what fires in each view, the rules as the API has them, and the window of one in the chart', async () => {
    const { page } = dashboard;
    const { body } = await app.get(`/v1/apps/${appId}/alerts`, key);
    const [errors, silence] = body.data as [Alert, Alert];
    expect([errors.name, errors.state, silence.name, silence.state]).toEqual([
      ...['errors', 'firing'],
      ...['silence', 'ok'],
    ]);
    const link = page.getByRole('link', { name: 'Alerts 1 firing' });
    await dashboard.visit('?view=requests', key);
    await link.waitFor();
    await dashboard.visit('', key);
    await page.locator('.marks', { hasText: 'Alert: errors' }).waitFor();
    await page.locator('.plot').focus();
    await page.keyboard.press('End');
    const spoken = page.locator('.chart [aria-live]');
    for (let hour = 0; hour < 3 && !(await spoken.innerText()).includes('alert'); hour++)
      await page.keyboard.press('ArrowLeft');
    expect(await spoken.innerText()).toContain('; alert errors');

    await link.click();
    await page.getByText('1 of 3 firing').waitFor();
    const rows = page.locator('.alerts tbody > tr');
    const cells = async (row: number) =>
      (await rows.nth(row).locator('> *').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
    const [first, second] = [await cells(0), await cells(1)];
    expect(first.slice(0, 2)).toEqual(['firing', `errors ${errors.condition}`]);
    const share = (errors.value! * 100).toFixed(1);
    expect(first.slice(3, 7)).toEqual([`${share} %`, '> 0.1 %', 'warning', 'email']);
    expect(second.slice(0, 2)).toEqual(['ok', `silence ${silence.condition}`]);
    expect(second.slice(4, 7)).toEqual(['≥ 1,440 min', 'critical', 'nobody']);

    await rows.first().locator('summary').focus();
    await page.keyboard.press('Enter');
    await rows.first().getByRole('listitem').getByRole('link').click();
    await dashboard.loaded();
    const to = Date.parse(errors.evaluated_at!);
    const shown = dashboard.url.searchParams;
    expect(['method', 'path'].map((name) => shown.get(name))).toEqual(['GET', '/v1/*']);
    expect(['from', 'to'].map((name) => Date.parse(shown.get(name)!))).toEqual([
      Date.parse(errors.since!) - 24 * HOUR_MS,
      to,
    ]);
    expect(await page.locator('.totals dd').first().innerText()).toMatch(/^\d/);
  });

  it('offers the values of a field with their counts, under the filters of the list, and asks only once opened', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&range=7d&method=GET', key);
    const asked = () => dashboard.calls.filter(({ path }) => path.includes('/facets'));
    expect(asked()).toEqual([]);
    await page.getByRole('button', { name: 'Values to filter by' }).click();
    const values = page.getByRole('list', { name: 'Values' });
    const list = async (field: string) => {
      await page.locator('.facets[aria-busy=false] li').first().waitFor();
      const { path } = asked().at(-1)!;
      expect(Object.fromEntries(new URL(path, app.url).searchParams)).toMatchObject({ method: 'GET', field });
      const { body } = await app.get(path, key);
      return body.data as { value: string | null; requests: number }[];
    };
    const statuses = await list('status_code');
    expect((await values.innerText()).trim().split(/\s+/)).toEqual(
      statuses.flatMap(({ value, requests }) => [value, requests.toLocaleString('en')]),
    );
    await page.getByLabel('Values of').selectOption('consumer');
    const consumer = (await list('consumer')).find(({ value }) => value !== null)!;
    await values.getByRole('button', { name: consumer.value! }).click();
    await dashboard.loaded();
    expect(dashboard.url.searchParams.get('consumer')).toMatch(/^\d+$/);
    expect(new Set(await page.locator('td.column-consumer').allInnerTexts())).toEqual(
      new Set([consumer.value]),
    );
    expect(asked()).toHaveLength(2);
    // Facets have no filter by URL.
    await dashboard.visit('?view=requests&url=orders', key);
    expect(await page.getByRole('button', { name: 'Values to filter by' }).count()).toBe(0);
  });

  it('draws by the chosen interval, zooms by a click, and tells errors apart', async () => {
    const { page } = dashboard;
    await dashboard.visit('?range=7d&chart=table', key);
    const rows = page.locator('.points tbody tr');
    expect(await rows.count()).toBe(168);
    await page.getByLabel('Interval').selectOption('day');
    await dashboard.loaded();
    expect([7, 8]).toContain(await rows.count());
    expect(await rows.first().innerText()).toMatch(/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ \w+, so far/);
    await page.getByRole('button', { name: 'As table' }).click();
    const { x, y, width, height } = (await page.locator('.plot .u-over').boundingBox())!;
    await page.mouse.click(x + width * 0.5, y + height / 2);
    await dashboard.loaded();
    const [from = 0, to = 0] = ['from', 'to'].map((name) =>
      Date.parse(dashboard.url.searchParams.get(name) ?? ''),
    );
    expect(to - from).toBe(24 * HOUR_MS);
    const codes = page.locator('.top').last().locator('.status');
    expect(await codes.first().innerText()).toBe('200');
    await codes.filter({ hasText: '404' }).click();
    expect(dashboard.url.searchParams.get('status')).toBe('404');
  });

  it('has today, yesterday, this week and the previous month as ranges', async () => {
    const { page } = dashboard;
    await dashboard.visit('?chart=table', key);
    for (const [range, name, min, max] of [
      ['today', 'Today', 1, 25],
      ['yesterday', 'Yesterday', 1, 25],
      ['week', 'This week', 1, 7 * 25],
      ['month', 'Previous month', 28, 31],
    ] as const) {
      await page.getByRole('button', { name: /^Time range/ }).click();
      await page.getByRole('button', { name, exact: true }).click();
      await dashboard.loaded();
      const shown = dashboard.url.searchParams.get('range');
      const rows = await page.locator('.points tbody tr').count();
      expect([shown, rows >= min && rows <= max, rows]).toEqual([range, true, rows]);
    }
  });

  it('searches requests by URL, duration, size, client, exception and ID, with bars of what it found', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&range=7d', key);
    const rows = page.locator('.log-table tbody tr');
    for (const [label, value, expected] of [
      ['URL has', 'orders', /orders/],
      ['Took, ms', '150', /(?:1[5-9]|[2-9]\d)\d ms|\d s/],
    ] as const) {
      await page.getByRole('button', { name: 'Add a filter' }).click();
      await page.getByLabel(label).fill(value);
      await page.getByLabel(label).press('Enter');
      await dashboard.loaded();
      for (const row of await rows.all()) expect(await row.innerText()).toMatch(expected);
    }
    const count = await rows.count();
    expect(count).toBeGreaterThan(1);
    const times = await page
      .locator('.log-table time')
      .evaluateAll((all) => all.map((time) => time.getAttribute('datetime')));
    expect(times).toEqual(times.toSorted().reverse());
    expect(await page.locator('.strip rect[height]:not([height="0"])').count()).toBeGreaterThan(0);
    await dashboard.visit(`?view=requests&range=30d&id=${failed.request_uuid}`, key);
    expect(await rows.count()).toBe(1);
    for (const search of ['exception=rror', 'client=.', 'larger=100']) {
      await dashboard.visit(`?view=requests&range=7d&status=500&${search}`, key);
      expect(await rows.count()).toBeGreaterThan(0);
    }
    await page.getByRole('button', { name: 'Add a filter' }).click();
    await page.getByLabel('Request ID').fill('7');
    await page.getByLabel('Request ID').press('Enter');
    await page.getByRole('alert').filter({ hasText: 'is a UUID' }).waitFor();
    await dashboard.visit('?slower=100', key);
    await page.getByText('narrow Requests alone').waitFor();
  });

  it('says that single requests are kept for 15 days, where a time is older', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&range=30d', key);
    await page.getByText(/kept for 15 days: since \w+ \d+ \w+/).waitFor();
    await dashboard.visit(`?view=requests&from=${lastMonth()}-01T00:00Z&to=${lastMonth()}-02T00:00Z`, key);
    await page.getByText('No single requests are kept of this time.').waitFor();
    await dashboard.visit('?view=requests', key);
    expect(await page.getByText('kept for 15 days').count()).toBe(0);
  });

  it('exports the names of consumers', async () => {
    const { page } = dashboard;
    await dashboard.visit('?view=requests&columns=consumer&consumer=1', key);
    await page.getByRole('button', { name: 'Export' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const [head, first] = readFileSync(await (await download).path(), 'utf8').split(/\r?\n/);
    expect(head).toMatch(/,consumer$/);
    expect(first).toMatch(/,"[a-z-]+"$/);
  });

  it('names the endpoints that can go, and those who still call them, as the API and a file do', async () => {
    const { page } = dashboard;
    await dashboard.visit('', key);
    await page.getByRole('link', { name: 'Inventory' }).click();
    const panel = (title: string) => page.getByRole('region', { name: title, exact: true });
    const { body } = await app.get(`/v1/apps/${appId}/endpoints`, key, { include: 'inventory' });
    const [deprecated, ...others] = body.data.filter(
      (endpoint: { deprecated: boolean }) => endpoint.deprecated,
    );
    expect([deprecated.path, deprecated.consumers_30d, others]).toEqual(['/v1/stock/{sku}', 2, []]);
    await dashboard.loaded();
    const row = panel('Deprecated endpoints').getByRole('row').nth(1);
    const requests = deprecated.requests_30d.toLocaleString('en-US') as string;
    expect((await row.getByRole('cell').allInnerTexts()).slice(-2)).toEqual([requests, '2']);

    const callers = panel('Who still calls them');
    await callers.getByRole('button', { name: 'Amber Outfitters' }).waitFor();
    expect(await callers.getByRole('row').count()).toBe(3);
    const download = page.waitForEvent('download');
    await callers.getByRole('button', { name: 'CSV' }).click();
    const [head, ...lines] = readFileSync(await (await download).path(), 'utf8').split('\r\n');
    expect(head).toBe('"consumer_id","consumer","name","group","method","path","requests"');
    expect(lines.map((line) => line.split(',')[1]).sort()).toEqual([
      '"amber-outfitters"',
      '"cobalt-outfitters"',
    ]);
    const counts = lines.map((line) => Number(/"(\d+)"$/.exec(line)?.[1]));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(deprecated.requests_30d);

    // Other tests call further endpoints.
    const more = panel('Undocumented endpoints').getByRole('button', { name: /^Show/ });
    if ((await more.count()) > 0) await more.click();
    const undocumented = await panel('Undocumented endpoints').innerText();
    expect(undocumented).toContain('/v1/webhooks/shipping');
    expect(await panel('Documented, never called').innerText()).toContain('/v1/customers/{customer_id}');
    await row.getByRole('link').click();
    await page.getByRole('list', { name: 'Set filters' }).getByText('/v1/stock/{sku}').waitFor();
  });

  it('takes times in UTC as well, and names days by them', async () => {
    await dashboard.visit('?range=30d&zone=utc', key);
    const { body } = dashboard.calls.find((call) => call.body?.interval)!;
    expect(body).toMatchObject({ timezone: 'UTC', interval: 'day' });
    expect(body!.since).toMatch(/T00:00Z$/);
    await dashboard.page.getByRole('button', { name: /^Time range/ }).click();
    await dashboard.page.getByLabel('Europe/Berlin').check();
    await dashboard.loaded();
    expect(dashboard.calls.findLast((call) => call.body?.interval)!.body).toMatchObject({
      timezone: 'Europe/Berlin',
    });
  });

  it('lists the requests since the first day of the chosen zone', async () => {
    await dashboard.visit('?view=requests&range=30d&zone=utc', key);
    const startOfList = () => {
      const { path } = dashboard.calls.findLast((call) => call.path.includes('/request-logs?'))!;
      return new URL(path, app.url).searchParams.get('start')!;
    };
    expect(startOfList()).toMatch(/T00:00Z$/);
    await dashboard.page.getByRole('button', { name: /^Time range/ }).click();
    await dashboard.page.getByLabel('Europe/Berlin').check();
    await eventually(() => /T2[23]:00Z$/.test(startOfList()));
  });
});

/** The month before last, whose metrics the demo has by the hour. */
function lastMonth(): string {
  const date = new Date();
  date.setUTCMonth(date.getUTCMonth() - 2, 1);
  return date.toISOString().slice(0, 7);
}
