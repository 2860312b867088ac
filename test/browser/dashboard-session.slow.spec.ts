import { ALL_SCOPES, type OperationId } from '../../src/platform/http/account.js';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { Temporal } from 'temporal-polyfill';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { buildRequest } from '../factories/request.factory.js';
import { Config } from '../../src/config/config.js';
import { Client, TestCollector } from '../collector/setup/collector.js';
import { buildSync } from '../collector/setup/messages.js';
import { evaluateAlerts } from '../setup/alerts.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { describeWithChromium, launchBrowser } from '../setup/browser.js';
import { eventually } from '../setup/eventually.js';
import { Tenant } from '../setup/tenant.js';
import { WebhookReceiver } from '../setup/webhook-receiver.js';
import { DashboardPage, shellWords, startProxy } from './dashboard-page.js';

const unknownKey = () => `${randomBytes(4).toString('hex').slice(0, 7)}.${randomBytes(16).toString('hex')}`;
/** Browsers write each response other than 2xx to the console. */
const FAILED = 'Failed to load resource';

const MARKUP = `"><img src=x onerror="window.live=1"><script>window.live=1</script><svg onload="window.live=1">`;
const HOSTILE = `${MARKUP}javascript:window.live=1//\u202Egpj.exe\u0007'$(touch live)\`touch live\``;
const HUGE = 5_000_000;

const formatRange = (from: number, to: number) =>
  `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
const signIn = async ({ page }: DashboardPage, key: string) => {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Open' }).click();
};
const alert = ({ page }: DashboardPage, text: RegExp) =>
  page.getByRole('alert').filter({ hasText: text }).waitFor();

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

describeWithChromium('a session of the dashboard', () => {
  let app: TestApp;
  let tenant: Tenant;
  let dashboard: DashboardPage;

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
    tenant = await Tenant.create(app);
    await tenant.write({}, { status_code: 500 });
  });
  afterAll(() => app.stop());
  beforeEach(async () => {
    dashboard = await DashboardPage.renew(browser, app, dashboard);
  });
  afterEach(async () => {
    await dashboard.leave();
    expect(dashboard.complaints.filter((text) => !text.startsWith(FAILED))).toEqual([]);
  });

  describe('the key', () => {
    it('is asked for, without findings of axe-core', async () => {
      await dashboard.page.goto(dashboard.origin);
      await dashboard.page.getByLabel('API key').waitFor();
      await dashboard.page.getByText('npm run -s cli -- key create --team 1').waitFor();
      await dashboard.expectAccessible('dashboard-key');
    });

    it('opens the page, and stays in this tab alone', async () => {
      const { page } = dashboard;
      await page.goto(`${dashboard.origin}/?view=requests`);
      await signIn(dashboard, tenant.key);
      await page.locator('.log-table tbody a').first().waitFor();
      expect(await page.locator('.log-table tbody tr').count()).toBe(2);
      expect(dashboard.calls.map(({ path }) => path.replace(/\?.*/, '')).sort()).toEqual([
        '/v1/apps',
        `/v1/apps/${tenant.appId}/alerts`,
        `/v1/apps/${tenant.appId}/metrics`,
        `/v1/apps/${tenant.appId}/request-logs`,
      ]);
      await page.reload();
      await dashboard.loaded();
      expect(await dashboard.evaluate('JSON.stringify([sessionStorage.length, localStorage.length])')).toBe(
        '[1,0]',
      );
      expect(await page.context().cookies()).toEqual([]);
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByLabel('API key').waitFor();
    });

    it('is kept for all tabs by choice, until one of them signs out', async () => {
      const { page } = dashboard;
      await page.goto(`${dashboard.origin}/?view=requests`);
      const username = page.locator('input[autocomplete=username]');
      expect(await page.getByLabel('API key').getAttribute('autocomplete')).toBe('current-password');
      await page.getByLabel('Keep me signed in on this device').check();
      await signIn(dashboard, tenant.key);
      await page.locator('.log-table').waitFor();
      expect(await username.count()).toBe(0);
      expect(await dashboard.evaluate('localStorage.length')).toBe(1);
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.locator('.log-table').waitFor();
      // The key of a link is of its tab alone, and stays when the kept one goes.
      const { key } = await app.admin.keys.create(tenant.teamId);
      const linked = await page.context().newPage();
      await linked.goto(`${dashboard.origin}/?view=requests#key=${key}`);
      await linked.locator('.log-table').waitFor();
      await other.getByRole('button', { name: 'Account' }).click();
      await other.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor();
      expect(await dashboard.evaluate('localStorage.length')).toBe(0);
      expect(await linked.locator('.log-table').count()).toBe(1);
    });

    it('leaves the address at once when it comes in the fragment, also of an open page', async () => {
      const { page } = dashboard;
      await dashboard.visit('?view=requests', tenant.key);
      expect(page.url()).toBe(`${dashboard.origin}/?view=requests`);
      expect(await dashboard.evaluate<string>('document.documentElement.outerHTML')).not.toContain(
        tenant.key,
      );
      await page.getByRole('button', { name: 'Account' }).click();
      await page.getByText('Acme').waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor();
      expect(await dashboard.evaluate('sessionStorage.length')).toBe(0);
      await dashboard.evaluate(`location.hash = 'key=${tenant.key}'`);
      await page.locator('.log-table').waitFor();
      expect(page.url()).toBe(`${dashboard.origin}/?view=requests`);
      expect(app.logged).not.toContain(tenant.key);
    });

    it('is explained when it is malformed, unknown or of a free plan', async () => {
      await dashboard.page.goto(`${dashboard.origin}/?view=alerts`);
      await signIn(dashboard, 'abc');
      await alert(dashboard, /form of an API key/);
      expect(dashboard.calls).toEqual([]);
      await signIn(dashboard, unknownKey());
      await alert(dashboard, /does not know this key/);
      await signIn(dashboard, (await app.team('free')).key);
      await alert(dashboard, /free plan/);
      await signIn(dashboard, tenant.key);
      await dashboard.loaded();
    });

    it('is explained when its scopes leave out the apps, and opens what they do not leave out', async () => {
      const keyFor = async (...operations: OperationId[]) =>
        (await app.admin.keys.create(tenant.teamId, { scopes: { ...ALL_SCOPES, operations } })).key;
      await dashboard.page.goto(dashboard.origin);
      await signIn(dashboard, await keyFor('getTeam'));
      await alert(dashboard, /limited to less .* This API key does not allow listApps/);
      await signIn(dashboard, await keyFor('listApps', 'getRequestLogs'));
      await alert(dashboard, /refused the request: This API key does not allow queryMetrics/);
      expect(await dashboard.page.getByRole('button', { name: 'Try now' }).count()).toBe(0);
      await dashboard.page.getByRole('link', { name: 'Requests' }).click();
      await dashboard.page.locator('.log-table tbody a').first().waitFor();
      await dashboard.page.getByRole('button', { name: 'Close' }).click();
      expect(await dashboard.page.getByRole('alert').count()).toBe(0);
      // Names of consumers are not all that it shows.
      await dashboard.visit('', await keyFor('listApps', 'queryMetrics'));
      expect(await dashboard.page.locator('.totals dd').first().innerText()).toMatch(/^2/);
      expect(await dashboard.page.getByRole('alert').count()).toBe(0);
      await dashboard.page.getByRole('link', { name: 'Alerts' }).click();
      await dashboard.page.getByText('its scopes leave out listAlerts').waitFor();
      expect(await dashboard.page.getByRole('alert').count()).toBe(0);
      await dashboard.expectAccessible('dashboard-alerts-without-scope');
    });

    it('is explained when it was revoked meanwhile, and the next one opens the same view', async () => {
      const { key } = await app.admin.keys.create(tenant.teamId);
      await dashboard.visit('?view=alerts', key);
      await app.admin.keys.revoke(key.split('.')[0]!);
      await dashboard.page.getByRole('link', { name: 'Requests' }).click();
      await alert(dashboard, /no longer works/);
      await signIn(dashboard, tenant.key);
      await dashboard.page.locator('.log-table').waitFor();
      expect(dashboard.url.search).toBe('?view=requests');
    });
  });

  describe('without a service', () => {
    it('keeps what it has while it is offline, and goes on by itself', async () => {
      const { page } = dashboard;
      await dashboard.visit('?view=requests', tenant.key);
      await page.context().setOffline(true);
      await page.getByRole('link', { name: 'Overview' }).click();
      await alert(dashboard, /cannot be reached/);
      const requests = page.locator('.totals dd').first();
      await requests.filter({ hasText: '–' }).waitFor();
      await dashboard.expectAccessible('dashboard-offline');
      await page.context().setOffline(false);
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await requests.filter({ hasText: /^2/ }).waitFor();
    });

    it.each([504, 429])('shows no figures of another time or filter after a %i', async (status) => {
      const { page } = dashboard;
      const figures = page.locator('.totals dd, .points td, .top tbody tr:not(.empty)');
      const countFigures = () => figures.filter({ hasText: /\d/ }).count();
      const failAll = () => page.route('**/metrics', (route) => route.fulfill({ status, json: {} }));
      await dashboard.visit('?chart=table', tenant.key);
      const before = await countFigures();
      expect(before).toBeGreaterThan(24);
      await failAll();
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByRole('alert').waitFor();
      // Of the same time: what was loaded stays.
      expect(await countFigures()).toBe(before);
      await page.getByRole('button', { name: /^Time range/ }).click();
      await page.getByRole('button', { name: 'Last 12 months' }).click();
      await page.getByRole('alert').waitFor();
      await dashboard.loaded();
      expect(await countFigures()).toBe(0);
      await page.unroute('**/metrics');
      await page.getByRole('button', { name: 'Try now' }).click();
      await figures.filter({ hasText: /\d/ }).first().waitFor();
      await failAll();
      await page.getByRole('button', { name: 'Add a filter' }).click();
      await page.getByLabel('Method').selectOption('GET');
      await page.getByRole('alert').waitFor();
      await dashboard.loaded();
      expect(await countFigures()).toBe(0);
    });
  });

  describe('of a team', () => {
    it('without an app says how to make one', async () => {
      const { key, teamId } = await app.team();
      await dashboard.visit('', key);
      await dashboard.page.getByText(`app create --team ${teamId} `).waitFor();
      await dashboard.expectAccessible('dashboard-no-app');
      await dashboard.page.getByRole('button', { name: 'Account' }).click();
      await dashboard.page.getByRole('button', { name: 'Sign out' }).click();
      await dashboard.page.getByLabel('API key').waitFor();
    });

    it('with an empty app says how to get data in, and shows its first data by itself', async () => {
      const { page } = dashboard;
      await dashboard.installClock();
      await page.setViewportSize({ width: 360, height: 740 });
      const empty = await Tenant.create(app);
      const { key, appId } = empty;
      const { body } = await app.get('/v1/apps', key);
      for (const view of ['', '?view=requests']) {
        await dashboard.visit(view, key);
        const text = await dashboard.page.locator('main').innerText();
        expect(text).toContain(`import access.log.gz --app ${appId}`);
        expect(text).toContain(`write-token create --app ${appId}`);
        expect(text).toContain(`clientId: '${body.data[0].client_id}'`);
        expect(text).toMatch(/runs no collector.* in the place of COLLECTOR/);
        expect(text).toContain('export APITALLY_HUB_BASE_URL=COLLECTOR\n');
        expect(text.indexOf('OTEL_EXPORTER')).toBeLessThan(text.indexOf('APITALLY'));
        expect(await dashboard.evaluate('document.documentElement.scrollWidth')).toBe(360);
      }
      await dashboard.expectAccessible('dashboard-empty');
      // Nothing else is asked about an app that has nothing.
      expect(new Set(dashboard.calls.map(({ path }) => path))).toEqual(
        new Set(['/v1/apps', `/v1/apps/${appId}/refused-senders`]),
      );
      await empty.write({});
      await page.clock.runFor(11_000);
      await page.locator('.log-table tbody a').waitFor();
    });

    it('with an empty app says which senders were refused, and why', async () => {
      const { key } = await Tenant.create(app);
      await fetch(`${app.url}/v1/traces`, { method: 'POST' });
      await dashboard.installClock();
      await dashboard.visit('', key);
      await dashboard.page.clock.runFor(11_000);
      const refusals = dashboard.page.getByRole('status').filter({ hasText: 'Senders were refused' });
      await refusals
        .getByText(
          /^\d\d:\d\d, \/v1\/traces: this port serves the API .* send to the collector, on port 3001/,
        )
        .waitFor();
      await dashboard.expectAccessible('dashboard-refused-senders');
    });

    it('with an empty app names the collector of its own process', async () => {
      const { key } = await Tenant.create(app);
      await dashboard.visit('', key);
      // As the service writes it (test/e2e/dashboard.process.spec.ts); the next view reads it.
      await dashboard.evaluate(`document.querySelector('meta[name=collector-port]').content = '3501'`);
      await dashboard.page.getByRole('link', { name: 'Requests' }).click();
      await dashboard.page.getByText('runs a collector on port 3501').waitFor();
      const text = await dashboard.page.locator('main').innerText();
      for (const name of ['APITALLY_HUB_BASE_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'])
        expect(text).toContain(`export ${name}=http://pages.test:3501\n`);
    });

    it('with several apps begins with all of them', async () => {
      const { page } = dashboard;
      const first = await Tenant.create(app);
      const second = await first.sibling();
      await first.write({}, { status_code: 500 });
      // The busiest app is not the first one: rows do not move while their figures arrive.
      await second.write({}, {}, {});
      const { id } = await app.admin.apps.create(first.teamId, 'No data', 'express');
      await dashboard.visit('', first.key);
      const rows = page.locator('.apps tbody tr');
      const links = await Promise.all(
        (await rows.getByRole('link').all()).map((link) => link.getAttribute('href')),
      );
      expect(links.map((link) => Number(new URLSearchParams(link?.slice('./?'.length)).get('app')))).toEqual([
        first.appId,
        second.appId,
        id,
      ]);
      expect(await rows.first().innerText()).toMatch(/2\s+50.0 %/);
      expect(await rows.nth(2).innerText()).toContain('no data yet');
      await dashboard.expectAccessible('dashboard-apps');
      await page.setViewportSize({ width: 320, height: 740 });
      expect(await dashboard.evaluate('document.documentElement.scrollWidth')).toBe(320);
      await rows.nth(1).getByRole('link').click();
      await dashboard.loaded();
      expect(dashboard.url.searchParams.get('app')).toBe(String(second.appId));
      expect(await page.locator('.totals dd').first().innerText()).toMatch(/^3/);
      await page.getByLabel('App', { exact: true }).selectOption(String(id));
      await page.getByText('No data has no data yet').waitFor();
      await page.getByRole('link', { name: 'Apps' }).click();
      await rows.nth(2).waitFor();
      await page.reload();
      await rows.nth(2).waitFor();
    });

    it('says that an app is not its own', async () => {
      await dashboard.visit('?app=999999', tenant.key);
      await dashboard.page.getByText('There is no such app').waitFor();
      await dashboard.expectAccessible('dashboard-unknown-app');
    });
  });

  it('counts each day of a zone whose daylight saving skips a midnight', async () => {
    const timezoneId = 'America/Santiago';
    let begins = Temporal.Now.zonedDateTimeISO(timezoneId);
    do begins = begins.getTimeZoneTransition('previous')!;
    while (begins.hour !== 1);
    const [from, to] = [begins.subtract({ days: 9 }), begins.add({ days: 3 })];
    const shop = await Tenant.create(app);
    const noons = [0, 1, 1, 2, 2, 2].map((days) => begins.add({ days, hours: 12 }).epochMilliseconds);
    await shop.write(...noons.map((timestamp) => ({ timestamp })));
    const local = await DashboardPage.open(browser, app, { timezoneId });
    const range = `from=${from.toInstant().toString()}&to=${to.toInstant().toString()}`;
    await local.visit(`?${range}&chart=table`, shop.key);
    const requests = await local.page.locator('.points tbody td:nth-of-type(1)').allInnerTexts();
    await local.leave();
    expect(requests.filter((count) => count !== '0')).toEqual(['3', '2', '1']);
    expect(local.complaints).toEqual([]);
  });

  it('cuts a range of thousands of years to what is kept, and shows a sum just below a unit in the next one', async () => {
    const shop = await Tenant.create(app);
    await shop.write({ response_size_bytes: 999_999 });
    await dashboard.visit('?from=0001-01-01T00:00Z&to=9999-12-31T00:00Z&chart=table', shop.key);
    expect(await dashboard.page.locator('.totals dd').last().innerText()).toBe('1.00 MB');
    expect(await dashboard.page.locator('.points tbody tr').count()).toBeLessThan(410);
    await dashboard.page.getByText('Only this part of the range').waitFor();
    await dashboard.visit('?from=2020-01-01T00:00Z&to=2020-02-01T00:00Z', shop.key);
    await dashboard.page.getByText('Nothing is kept of this time').waitFor();
  });

  it('compares with the period before only where all of it is kept', async () => {
    const shop = await Tenant.create(app);
    const [now, day, hour] = [Date.now(), 86_400_000, 3_600_000];
    const agesInDays = [380, 40, 10, 10, 10, 5, 5];
    const ages = [...agesInDays.map((days) => days * day), 32 * day - hour, 32 * day - 5 * hour];
    await shop.write(...ages.map((age) => ({ timestamp: now - age })));
    const { page } = dashboard;
    const shown = async (search: string) => {
      await dashboard.visit(`?${search}&zone=utc&chart=table`, shop.key);
      const before = await page.locator('.points tbody td:nth-of-type(2)').allInnerTexts();
      return [
        (await page.locator('.totals dd').first().innerText()).replace(/\s+/g, ' ').trim(),
        before.some((count) => count !== '–'),
      ];
    };
    expect(await shown('range=30d')).toEqual(['5 ▲ 66.7 %', true]);
    expect(await shown('range=12mo')).toEqual(['8', false]);
    // Minutes are kept for 32 days.
    const [from, to] = [32 * day - 4 * hour, 32 * day - 10 * hour].map((age) => now - age);
    expect(await shown(formatRange(from!, to!))).toEqual(['1', false]);
  });

  it('compares with nothing where the data of the app begin later, and says from when they are', async () => {
    const shop = await Tenant.create(app);
    const [now, day] = [Date.now(), 86_400_000];
    await shop.write(...[10, 5, 5, 1].map((days) => ({ timestamp: now - days * day })));
    const { page } = dashboard;
    const requests = async (search: string) => {
      await dashboard.visit(`?${search}&zone=utc`, shop.key);
      return (await page.locator('.totals dd').first().innerText()).replace(/\s+/g, ' ').trim();
    };
    const first = new Date(now - 10 * day).getUTCDate();
    expect(await requests('range=7d')).toMatch(new RegExp(`^3 data from ${first} `));
    // Nothing is known of the time before: the app has no data of it at all.
    expect(await requests('range=30d')).toBe('4');
    await shop.write({ timestamp: now - 15 * day });
    expect(await requests('range=7d')).toBe('3 ▲ 200 %');
  });

  it('draws no percentiles of fewer than twenty requests, and says why', async () => {
    const shop = await Tenant.create(app);
    const timestamp = Date.now() - 120_000;
    await shop.write(...Array.from({ length: 19 }, () => ({ timestamp })));
    const { page } = dashboard;
    await dashboard.visit('?range=1h', shop.key);
    await page.getByText(/no period has 20 requests/).waitFor();
    await shop.write({ timestamp });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText(/no period has 20 requests/).waitFor({ state: 'detached' });
    const untimed = await Tenant.create(app);
    await untimed.write({ response_time_ms: null });
    await dashboard.visit('', untimed.key);
    await page.getByText('the source of these requests sends none').waitFor();
  });

  it('says of a status that is none that nothing has it', async () => {
    for (const view of ['', '&view=requests']) {
      await dashboard.visit(`?status=abc${view}`, tenant.key);
      await dashboard.page.getByRole('status').filter({ hasText: 'No request has this status' }).waitFor();
      expect(await dashboard.page.getByRole('alert').count()).toBe(0);
    }
  });

  it('says of a range in the future that it is one, and that a link to it has no requests', async () => {
    const { page } = dashboard;
    await dashboard.visit('', tenant.key);
    const year = new Date().getFullYear() + 1;
    await page.getByRole('button', { name: /^Time range/ }).click();
    await page.getByLabel('To', { exact: true }).fill(`${year}-02-01T00:00`);
    await page.getByLabel('From', { exact: true }).fill(`${year}-01-31T00:00`);
    await page.getByRole('button', { name: 'Apply' }).click();
    await alert(dashboard, /in the future/);
    expect(dashboard.url.search).toBe('');
    for (const view of ['', '&view=requests']) {
      await dashboard.visit(`?from=${year}-01-31T00:00Z&to=${year}-02-01T00:00Z${view}`, tenant.key);
      await page.locator('main').getByText('No requests in this time').first().waitFor();
      await page.getByRole('status').filter({ hasText: 'in the future' }).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    }
  });

  it('names the range that is counted and listed, not the one that was asked for', async () => {
    const { page } = dashboard;
    const midnight = Math.floor(Date.now() / 86_400_000 - 2) * 86_400_000;
    const label = async (hours: number, until: number) => {
      const [from, to] = [hours, until].map((offset) => midnight + offset * 3_600_000);
      await dashboard.visit(`?${formatRange(from!, to!)}&view=requests&zone=utc`, tenant.key);
      const text = await page.getByRole('button', { name: /^Time range/ }).innerText();
      const { path } = dashboard.calls.findLast((call) => call.path.includes('/request-logs?'))!;
      const { searchParams } = new URL(path, dashboard.origin);
      return [
        text.replace(/\s+/g, ' '),
        searchParams.get('start')?.slice(11),
        searchParams.get('end')?.slice(11),
      ];
    };
    expect(await label(10.5, 18.5)).toEqual([
      expect.stringMatching(/: \d+ \w+(?: \d{4})?, 10:00 – 19:00 UTC$/),
      '10:00Z',
      '19:00Z',
    ]);
    expect(await label(-252, 12)).toEqual([
      expect.stringMatching(
        new RegExp(`: \\d+ \\w+(?: \\d{4})? – ${new Date(midnight).getUTCDate()} \\w+(?: \\d{4})? UTC$`),
      ),
      '00:00Z',
      '00:00Z',
    ]);
    // Of another year it has the year.
    const lastYear = new Date(midnight).getUTCFullYear() - 1;
    const hours = (Date.UTC(lastYear, 11, 1) - midnight) / 3_600_000;
    expect(await label(hours, hours + 24)).toEqual([
      expect.stringContaining(`: 1 Dec ${lastYear}, 00:00 – 2 Dec ${lastYear}, 00:00 UTC`),
      '00:00Z',
      '00:00Z',
    ]);
  });

  it('filters by an endpoint whose path has an asterisk, not by what the asterisk may stand for', async () => {
    const shop = await Tenant.create(app);
    const paths = ['/files/*', '/files/*', '/files/a', '/files/b\\'];
    await shop.write(...paths.map((path) => ({ method: 'POST', path })));
    const { page } = dashboard;
    const total = async () => (await page.locator('.totals dd').first().innerText()).trim();
    const note = page.getByText(/other paths/);
    const endpoint = (path: string) =>
      page
        .locator('.top')
        .first()
        .getByRole('button', { name: `POST ${path}`, exact: true });

    await dashboard.visit('?range=1h&path=/files/*', shop.key);
    expect(await total()).toBe('4');
    await endpoint('/files/*').click();
    await dashboard.loaded();
    expect(await total()).toBe('2');
    expect(await endpoint('/files/*').count()).toBe(0);

    await page.getByRole('link', { name: 'Requests' }).click();
    await page.locator('.log-table tbody a').first().waitFor();
    await note.waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'NDJSON' }).click();
    expect(
      readFileSync(await (await download).path(), 'utf8')
        .trim()
        .split('\n'),
    ).toHaveLength(2);
    await page.keyboard.press('Escape');

    await page.locator('.log-table tbody tr').filter({ hasText: '/files/*' }).first().click();
    await page.getByRole('link', { name: 'Same endpoint' }).click();
    await page.getByRole('link', { name: 'Overview' }).click();
    await dashboard.loaded();
    expect(await total()).toBe('2');

    await dashboard.visit('?range=1h', shop.key);
    await endpoint('/files/b\\').click();
    await dashboard.loaded();
    expect(await total()).toBe('1');
    await page.getByRole('link', { name: 'Requests' }).click();
    await dashboard.loaded();
    expect(await page.locator('.log-table tbody tr').count()).toBe(1);
    expect(await note.count()).toBe(0);
  });

  it('names consumers that are not on the first page of a thousand, in the table and as a filter', async () => {
    const many = await Tenant.create(app);
    const timestamp = Date.now() - 60_000;
    const ofConsumer = (identifier: string) => ({ timestamp, consumer: { identifier } });
    await many.write(ofConsumer('the oldest'), ofConsumer('the oldest'));
    await many.write(...Array.from({ length: 1000 }, (_, index) => ofConsumer(`younger ${index}`)));
    await dashboard.visit('', many.key);
    const first = dashboard.page.locator('.top').nth(1).locator('tbody tr').first();
    await first.getByText('the oldest').click();
    const chip = dashboard.page.getByRole('list', { name: 'Set filters' });
    await chip.getByText('the oldest').waitFor();
    await dashboard.loaded();
    const pages = new Set(
      dashboard.calls.map(({ path }) => path).filter((path) => path.includes('/consumers')),
    );
    expect(pages.size).toBe(2);
    // The filter's own page is loaded with nothing else in memory, too.
    await dashboard.page.reload();
    await chip.getByText('the oldest').waitFor();
  });

  it('takes codes and classes of three digits as a status, and says so of others', async () => {
    const shop = await Tenant.create(app);
    await shop.write({ status_code: 999 }, { status_code: 600 }, { status_code: 601 }, {});
    const { page } = dashboard;
    await dashboard.visit('?range=1h', shop.key);
    await page.getByRole('button', { name: 'Add a filter' }).click();
    for (const codes of ['0xx', '099', '404,0xx', '4x', '1000']) {
      await page.getByLabel('Codes').fill(codes);
      await page.getByLabel('Codes').press('Enter');
      await alert(dashboard, /Write codes and classes/);
      expect(dashboard.url.search).toBe('?range=1h');
      await page.getByLabel('Codes').fill('');
      expect(await page.locator('.filter-box [role=alert]').innerText()).toBe('');
    }
    // What is typed is set when the field is left, by the mouse too, but not by Escape.
    await page.getByLabel('Codes').pressSequentially('404');
    await page.keyboard.press('Escape');
    await page.getByLabel('Codes').waitFor({ state: 'detached' });
    expect(dashboard.url.search).toBe('?range=1h');
    for (const [codes, leave] of [
      ['601', () => page.keyboard.press('Tab')],
      ['600', () => page.mouse.click(1000, 70)],
    ] as const) {
      await page.getByRole('button', { name: 'Add a filter' }).click();
      await page.getByLabel('Codes').pressSequentially(codes);
      await leave();
      await page
        .getByRole('listitem')
        .filter({ hasText: `status ${codes}` })
        .waitFor();
    }
    for (const [status, count] of [
      ['6xx', 2],
      ['6xx,999', 3],
      ['999', 1],
    ] as const) {
      await dashboard.visit(`?range=1h&status=${status}`, shop.key);
      expect(await page.locator('.totals dd').first().innerText()).toMatch(new RegExp(`^${count}\\b`));
      await page.getByRole('link', { name: 'Requests' }).click();
      await dashboard.loaded();
      expect(await page.locator('.log-table tbody tr').count()).toBe(count);
    }
  });

  it('finds the newest of many thousand requests first, and the others when it is scrolled', async () => {
    const shop = await Tenant.create(app);
    const burst = Date.now() - 5 * 3_600_000;
    const build = (timestamp: number) => ({ timestamp, url: 'https://shop.example/needle' });
    await shop.write(...Array.from({ length: 5200 }, (_, index) => build(burst + index)));
    await shop.write(...Array.from({ length: 3 }, (_, index) => build(Date.now() - 60_000 + index)));
    const { page } = dashboard;
    await dashboard.visit('?view=requests&url=needle', shop.key);
    const rows = page.locator('.log-table tbody tr');
    expect(await rows.count()).toBeLessThan(5203);
    await eventually(async () => {
      await rows.last().scrollIntoViewIfNeeded();
      return (await rows.count()) === 5203;
    });
    const times = await page
      .locator('.log-table time')
      .evaluateAll((all) => all.map((time) => time.getAttribute('datetime')));
    expect(times).toEqual(times.toSorted().reverse());
    expect(dashboard.calls.filter(({ path }) => path.endsWith('/request-logs')).length).toBeLessThan(8);
  });

  it('marks whole requests on the axis', async () => {
    const shop = await Tenant.create(app);
    const timestamp = Date.now() - 60_000;
    await shop.write(...Array.from({ length: 13 }, () => ({ timestamp })));
    const { page } = dashboard;
    await dashboard.visit('?range=1h', shop.key);
    await dashboard.evaluate(`{
      window.drawn = [];
      const { prototype } = CanvasRenderingContext2D;
      const { fillText } = prototype;
      prototype.fillText = function (text, ...place) {
        drawn.push(text);
        return fillText.call(this, text, ...place);
      };
    }`);
    // Drawn again.
    await page.setViewportSize({ width: 1000, height: 860 });
    await eventually(async () => (await dashboard.evaluate<number>('drawn.length')) > 0);
    expect(await dashboard.evaluate('drawn')).toEqual(expect.arrayContaining(['0', '8', '16']));
  });

  it('has the usual columns where the address names none that exist', async () => {
    const headings = async (search: string) => {
      await dashboard.visit(`?view=requests${search}`, tenant.key);
      return dashboard.page.locator('.log-table thead th').allInnerTexts();
    };
    expect(await headings('&columns=none')).toEqual(await headings(''));
    expect(await headings('&columns=none,path')).toEqual(['Path']);
  });

  it('tells a size of 0 from an unknown one, in the list and the details', async () => {
    const shop = await Tenant.create(app);
    const sizes = { request_size_bytes: null, response_size_bytes: null };
    const [unknown] = await shop.write(sizes, { request_size_bytes: 0, response_size_bytes: 0 });
    const { page } = dashboard;
    await dashboard.visit('?view=requests&columns=received,sent', shop.key);
    for (const size of ['0 B', '–']) {
      const row = page.locator('.log-table tbody tr').filter({ hasText: size });
      expect(await row.locator('td').allInnerTexts()).toEqual([size, size]);
      await row.click();
      await dashboard.loaded();
      const facts = page.locator('.facts div').filter({ hasText: /^(?:Received|Sent)/ });
      expect(await facts.locator('dd').allInnerTexts()).toEqual([size, size]);
    }
    // Not in the list.
    const link = `?view=requests&status=500&request=${unknown!.request_uuid}`;
    await dashboard.visit(link, shop.key);
    expect(await page.locator('.facts').innerText()).not.toContain('0 B');
  });

  it('says where to read how headers and bodies are captured, of a request without them', async () => {
    const shop = await Tenant.create(app);
    const [record] = await shop.write({});
    await dashboard.visit(`?view=requests&request=${record!.request_uuid}&tab=response`, shop.key);
    for (const missing of ['No headers were captured', 'No body was captured'])
      await dashboard.page
        .getByText(`${missing}. Most SDKs capture none by default: docs/monitor.md says`)
        .waitFor();
  });

  it('shows and copies a body as it was sent, also one that is no JSON', async () => {
    const form = `a=1&b="2"\n`;
    const build = (type: string, body: string) => ({
      method: 'POST',
      url: 'https://shop.example/form',
      captured_json: toCaptureJson({
        ...EMPTY_CAPTURE,
        request_headers: [['Content-Type', type]],
        request_body_json: body,
      }),
    });
    const tenant = await Tenant.create(app);
    const records = await tenant.write(build('text/plain', form), build('application/json', '"a"'));
    for (const [record, body] of [
      [records[0]!, form],
      [records[1]!, '"a"'],
    ] as const) {
      await dashboard.visit(`?view=requests&request=${record.request_uuid}&tab=request`, tenant.key);
      const shown = dashboard.page.getByRole('region', { name: 'Body' });
      await shown.waitFor();
      expect(await shown.evaluate((element) => element.textContent)).toBe(body);
      await dashboard.page.getByRole('button', { name: 'Copy as curl' }).click();
      await dashboard.page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
      expect(shellWords(await dashboard.evaluate<string>('window.copied')).at(-1)).toBe(body);
    }
  });

  it('says of an identifier that is no UUID that there is no such request, and nothing of the service', async () => {
    await dashboard.visit('?view=requests&request=not-a-uuid', tenant.key);
    await dashboard.page.getByText('There is no such request').waitFor();
    await dashboard.page.locator('.log-table tbody a').first().waitFor();
    expect(await dashboard.page.getByRole('alert').count()).toBe(0);
  });

  it('works below a path of a proxy', async () => {
    const { origin, close } = await startProxy(app.url, '/tools/analytics');
    const { page } = dashboard;
    await page.goto(`${origin}/tools/analytics/?range=1h#key=${tenant.key}`);
    await dashboard.loaded();
    await page.getByRole('link', { name: 'Requests' }).click();
    await page.locator('.log-table tbody a').first().click();
    await page.locator('.summary').waitFor();
    expect(page.url()).toMatch(/\/tools\/analytics\/\?view=requests&range=1h&request=/);
    expect(dashboard.calls.filter(({ path }) => !path.startsWith('/tools/analytics/v1/'))).toEqual([]);
    // The pages of this test are of the proxy, so the service's own address is the stranger.
    expect(
      dashboard.complaints.filter((text) => !text.startsWith(`asked ${origin}/tools/analytics/`)),
    ).toEqual([]);
    dashboard.complaints.splice(0);
    close();
  });

  it('lists the instances that run with their versions, processor time and memory, and tells silent ones apart', async () => {
    const collector = await TestCollector.start(app.store, app.app.get(Config));
    const client = await Client.create(app, collector);
    const [running, silent] = [randomUUID(), randomUUID()];
    const start = (instance_uuid: string, version: string) =>
      client.send('startup', {
        instance_uuid,
        message_uuid: randomUUID(),
        client: 'js:express',
        framework: 'express',
        versions: { app: version, nodejs: '22.21.1' },
      });
    await start(running, '1.2.3');
    const resources = { cpu_percent: 12.34, memory_rss: 187_432_960 };
    await client.send('sync', buildSync({ instance_uuid: running, resources }));
    await collector.stop();
    const { appId, key } = client.tenant;
    const { body } = await app.get('/v1/apps', key);
    const [{ envs }] = body.data as [{ envs: [{ id: number }] }];
    const earlier = Date.now() - 11 * 60_000;
    await app.store.insert('instance_reports', [
      JSON.stringify({
        app_id: appId,
        timestamp: earlier,
        app_env_id: envs[0].id,
        instance_uuid: silent,
        last_sync_at: earlier,
        cpu_percent: -1,
        memory_rss: -1,
        client: '',
        versions: {},
        app_version: '1.2.2',
        framework: 'express',
      }),
    ]);
    await dashboard.visit('?view=instances', key);
    const { page } = dashboard;
    await page.getByText('1 running, 1 silent').waitFor();
    const cells = await dashboard.evaluate<string[][]>(
      `[...document.querySelectorAll('.instances tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))`,
    );
    expect(cells.map(([name, state, version]) => [name, state, version])).toEqual([
      [running.slice(0, 8), 'running', '1.2.3'],
      [silent.slice(0, 8), 'silent', '1.2.2'],
    ]);
    const [first, second] = cells as [string[], string[]];
    expect(first[3]).toMatch(/^express\n.*nodejs 22\.21\.1/);
    expect(first.slice(-2).map((cell) => cell.trim())).toEqual(['12.3 %', '187 MB']);
    expect(second.slice(-2)).toEqual(['–', '–']);
    expect(await page.getByRole('img', { name: `Memory of ${running.slice(0, 8)} over time` }).count()).toBe(
      1,
    );
    await dashboard.expectAccessible('dashboard-instances');
    await page.getByRole('button', { name: 'API request of Instances' }).click();
    expect(await page.locator('.api-request pre').innerText()).toContain(`/v1/apps/${appId}/instances?`);
  });

  it('opens from the message of an alert at its window, and shows in each view and app that it fires', async () => {
    const { page } = dashboard;
    const receiver = await WebhookReceiver.start();
    const shop = await Tenant.create(app);
    const second = await shop.sibling();
    const third = await shop.sibling();
    const timestamp = Math.floor(Date.now() / 60_000) * 60_000 - 90_000;
    const failures = Array.from({ length: 6 }, () => ({ timestamp, path: '/v1/items', status_code: 500 }));
    for (const failing of [shop, second]) await failing.write(...failures, { timestamp, path: '/other' });
    await third.write({ timestamp });
    const rule = { metric: 'server_errors', value: 5, window: '10m', path: '/v1/*' };
    await app.alerts.create({ team: shop.teamId }, 'errors', rule, { webhook: receiver.url });
    await evaluateAlerts(app, { ALERT_DASHBOARD_URL: dashboard.origin });
    const links = receiver.bodies.flatMap(({ alerts }) => alerts.map(({ generatorURL }) => generatorURL));
    await receiver.stop();
    expect(links).toHaveLength(2);
    const link = links.find((href) => new URL(href).searchParams.get('app') === String(shop.appId))!;
    await dashboard.visit(new URL(link).search, shop.key);
    expect(await page.locator('.totals dd').first().innerText()).toMatch(/^6/);
    expect(await page.locator('.chip').allInnerTexts()).toEqual([expect.stringContaining('/v1/*')]);
    await page.locator('.marks', { hasText: 'Alert: errors' }).waitFor();
    await page.getByRole('button', { name: 'As table' }).click();
    const marked = page.locator('.points tbody th', { hasText: 'alert errors' });
    expect(await marked.count()).toBe(10);
    expect(await page.locator('.points tbody tr').count()).toBe(10);

    await page.getByLabel('App', { exact: true }).selectOption('');
    const badges = page.locator('.apps tbody tr').getByRole('link', { name: '1 firing' });
    await badges.nth(1).waitFor();
    expect(await badges.count()).toBe(2);
    await dashboard.expectAccessible('dashboard-apps-firing');
    await badges.nth(1).click();
    await page.getByText('1 of 1 firing').waitFor();
    expect(dashboard.url.searchParams.get('app')).toBe(String(second.appId));
    expect(await page.locator('.alerts').innerText()).toContain('webhook');
    expect(await page.locator('.alerts').innerText()).not.toContain('hidden-token');
    for (const view of ['Overview', 'Requests', 'Errors', 'Inventory', 'Instances']) {
      await page.getByRole('link', { name: view }).click();
      await page.getByRole('link', { name: 'Alerts 1 firing' }).waitFor();
    }
    // Of another app, before its own are loaded.
    await page.getByLabel('App', { exact: true }).selectOption(String(third.appId));
    await page.getByRole('link', { name: 'Alerts', exact: true }).waitFor();
  });

  it('says how to make a rule where there is none, and follows what fires each minute', async () => {
    const { page } = dashboard;
    await dashboard.installClock();
    const shop = await Tenant.create(app);
    await shop.write({ status_code: 500, timestamp: Date.now() - 120_000 });
    await dashboard.visit('?view=alerts', shop.key);
    await page.getByText(`alert create --app ${shop.appId} --preset errors`).waitFor();
    await dashboard.expectAccessible('dashboard-alerts-nothing');
    const rule = { metric: 'server_errors', value: 0, window: '10m' };
    await app.alerts.create({ app: shop.appId }, 'later', rule, { email: 'ops@example.com' });
    await page.clock.runFor(61_000);
    await page.getByText('not evaluated yet').waitFor();
    await evaluateAlerts(app);
    await page.clock.runFor(61_000);
    await page.getByRole('link', { name: 'Alerts 1 firing' }).waitFor();
  });

  it('has texts of monitored applications as text in every field and view, and a huge one is cut until it is asked for', async () => {
    const { id: teamId } = await app.admin.teams.create(HOSTILE.slice(0, 60), 'premium');
    const { key } = await app.admin.keys.create(teamId);
    const { id: appId } = await app.admin.apps.create(teamId, MARKUP.slice(0, 60), 'express');
    const huge = `${HOSTILE}${'x'.repeat(HUGE)}`;
    const headers = [
      [HOSTILE, HOSTILE],
      ['x-masked', '******'],
      ['x-huge', huge],
    ] as const;
    const now = Date.now();
    const capture = {
      ...EMPTY_CAPTURE,
      request_headers: headers,
      response_headers: headers,
      request_body_json: JSON.stringify({ [HOSTILE]: HOSTILE, exact: 1, token: '******' }).replace(
        '"exact":1',
        '"exact":12345678901234567890',
      ),
      response_body_json: JSON.stringify({ huge }),
      trace_id: 'ab'.repeat(16),
      exception: {
        type: HOSTILE,
        message: HOSTILE,
        stacktrace: huge,
        tracker_event_id: null,
        sentry_event_id: null,
      },
      logs: [
        {
          timestamp: new Date(now).toISOString().replace('Z', '000Z'),
          message: huge,
          level: HOSTILE,
          logger: HOSTILE,
          file: HOSTILE,
          line: 1,
        },
      ],
      spans: [0, 1].map((index) => ({
        span_id: `0${index}`,
        // Each is the parent of the other.
        parent_span_id: `0${1 - index}`,
        name: HOSTILE,
        kind: 'CLIENT',
        start_time_ns: 1,
        end_time_ns: 2,
        duration_ns: 1,
        status: 'ERROR',
        attributes: { [HOSTILE]: huge, list: [HOSTILE] },
      })),
    };
    const record = buildRequest({
      timestamp: now - 1000,
      env: MARKUP,
      consumer: { identifier: HOSTILE, name: HOSTILE, group: HOSTILE },
      path: `/${HOSTILE}`,
      url: `javascript:window.live=1//${HOSTILE}`,
      status_code: 500,
      captured_json: JSON.stringify(capture),
    });
    await app.writer.write(appId, [record]);
    const broken = { metric: 'requests', value: -1, window: '10m', path: `${HOSTILE}*`.slice(0, 900) };
    await app.alerts.create(
      { app: appId },
      HOSTILE.slice(0, 100),
      { ...broken, path: '*' },
      { email: 'a@b.example' },
    );
    await app.alerts.create({ app: appId }, 'path', broken, { email: 'a@b.example' });
    await evaluateAlerts(app);
    const { page } = dashboard;
    const isInert = async () => {
      const found = await dashboard.evaluate<unknown>(`[
        window.live,
        document.querySelectorAll('img, iframe, object, embed, style, body script, head script:not([src*="assets/"])').length,
        [...document.querySelectorAll('a')].filter((one) => !/^(\\.\\/|#main)/.test(one.getAttribute('href'))).length,
        /[\\u202e\\u0007]/.test(document.querySelector('main').innerText),
        document.documentElement.scrollWidth > innerWidth]`);
      expect(found).toEqual([undefined, 0, 0, false, false]);
      expect(dashboard.complaints).toEqual([]);
    };
    await dashboard.visit('?range=1h', key);
    await isInert();
    expect(await page.locator('main').innerText()).toContain('<script>window.live=1</script>');
    await page.locator('.top').nth(1).locator('tbody button').first().click();
    await dashboard.loaded();
    await isInert();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.locator('.key-box bdi').waitFor();
    await page.keyboard.press('Escape');
    await dashboard.visit('?view=alerts', key);
    await page.getByText('2 of 2 firing').waitFor();
    await isInert();
    await dashboard.visit('?view=requests&range=1h&columns=path', key);
    await isInert();
    await page.getByRole('button', { name: 'Values to filter by' }).click();
    await page.getByLabel('Values of').selectOption('consumer');
    await page.getByRole('list', { name: 'Values' }).getByText('<script>').waitFor();
    await isInert();
    await page.keyboard.press('Escape');
    const columns = 'time,url,consumer,env';
    await dashboard.visit(`?view=requests&range=1h&columns=${columns}&request=${record.request_uuid}`, key);
    await page.getByRole('tabpanel').waitFor();
    const tabs = await page.getByRole('tab').all();
    expect(tabs).toHaveLength(5);
    for (const tab of tabs) {
      await tab.click();
      await isInert();
      expect(await dashboard.evaluate<number>('document.body.textContent.length')).toBeLessThan(100_000);
      expect(await page.locator('main').innerText()).toContain('U+202E');
    }
    await dashboard.visit('?view=errors&range=1h', key);
    await page.locator('.log-table tbody a').first().click();
    await page.getByRole('region', { name: 'Stack trace' }).waitFor();
    await isInert();
    expect(await page.locator('.details').innerText()).toContain('U+202E');
    await dashboard.visit(`?view=requests&range=1h&request=${record.request_uuid}&tab=spans`, key);
    await page.locator('.spans summary').first().click();
    await page
      .getByRole('button', { name: /Show all 5,000,/ })
      .first()
      .click();
    await isInert();
    await page.getByRole('tab', { name: 'Response' }).click();
    await page
      .getByRole('button', { name: /Show all 5,000,/ })
      .last()
      .click();
    await isInert();
    expect(
      await dashboard.evaluate<number>('document.querySelector(".code pre").textContent.length'),
    ).toBeGreaterThan(HUGE);
    await page.getByRole('tab', { name: 'Request' }).click();
    expect(await page.getByRole('tabpanel').innerText()).toContain('"exact": 12345678901234567890');
    const masked = page.locator('[role=tabpanel] .masked');
    expect(await masked.count()).toBe(2);
    expect(await masked.first().getAttribute('title')).toMatch(/client library .* or this service/);
    // A URL that is not HTTP is no command line.
    expect(await page.getByRole('button', { name: 'Copy as curl' }).count()).toBe(0);
    await dashboard.screenshot('dashboard-hostile');
  });
});

describeWithChromium('a service at its limits', () => {
  const LIMIT = 7;
  let app: TestApp;
  let dashboard: DashboardPage;
  let tenant: Tenant;
  /** Made before the first wrong key: afterwards a new key counts as a guess for some seconds. */
  const tenants: Tenant[] = [];

  beforeAll(async () => {
    // Two views of the requests, and less than the overview.
    app = await TestApp.start({ RATE_LIMIT_PER_MINUTE: String(LIMIT), AUTH_FAILURES_PER_MINUTE: '1' });
    for (let test = 0; test < 4; test++) tenants.push(await Tenant.create(app));
  });
  afterAll(() => app.stop());
  beforeEach(async () => {
    tenant = tenants.pop()!;
    await tenant.write({});
    dashboard = await DashboardPage.renew(browser, app, dashboard);
  });
  afterEach(async () => {
    await dashboard.leave();
    expect(dashboard.complaints.filter((text) => !text.startsWith(FAILED))).toEqual([]);
  });

  it('keeps what is loaded when the key has no requests left, and says when it goes on', async () => {
    await dashboard.visit('', tenant.key);
    await alert(dashboard, /used up its requests/);
    await dashboard.page.getByText(/Next try in \d+ s/).waitFor();
    await dashboard.screenshot('dashboard-rate-limit');
    expect(await dashboard.page.getByLabel('App', { exact: true }).innerText()).toContain('Shop');
  });

  it('says so where nothing is loaded yet, and takes another key', async () => {
    for (let count = 0; count < LIMIT; count++) await app.get('/v1/team', tenant.key);
    const { page } = dashboard;
    await page.goto(`${dashboard.origin}/#key=${tenant.key}`);
    await alert(dashboard, /used up its requests of this minute\.$/);
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
  });

  it('tells a key without requests from wrong keys, and from too many of them', async () => {
    for (let count = 0; count < LIMIT; count++) await app.get('/v1/team', tenant.key);
    const { page } = dashboard;
    await page.goto(dashboard.origin);
    await signIn(dashboard, tenant.key);
    await alert(dashboard, /is right, but it has used up/);
    await page.reload();
    await signIn(dashboard, unknownKey());
    await alert(dashboard, /does not know/);
    await signIn(dashboard, unknownKey());
    await alert(dashboard, /Too many wrong keys/);
  });

  it('says that the service is unavailable when it has lost its store', async () => {
    await dashboard.visit('?view=requests', tenant.key);
    const rows = await dashboard.page.locator('.log-table').innerText();
    await app.store.close();
    await dashboard.page.getByRole('button', { name: 'Refresh' }).click();
    await alert(dashboard, /temporarily unavailable/);
    await dashboard.page.getByText(/Next try in/).waitFor();
    expect(await dashboard.page.locator('.log-table').innerText()).toBe(rows);
  });
});
