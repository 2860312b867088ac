import type { Browser, Locator, Page } from 'playwright-core';
import { TestApp } from '../setup/app.js';
import { HOST, describeWithChromium, launchBrowser } from '../setup/browser.js';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';

describeWithChromium('/docs in a browser', () => {
  let app: TestApp;
  let browser: Browser;
  let page: Page;
  let key: string;
  let origin: string;
  /** What the page asked of anybody else, and what it complained of. */
  const strangers: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    app = await TestApp.start();
    ({ key } = await app.team());
    origin = app.url.replace('127.0.0.1', HOST);
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 1600 }, reducedMotion: 'reduce' });
    await page.route(
      (url) => url.origin !== origin && url.protocol !== 'data:',
      async (route) => {
        strangers.push(route.request().url());
        await route.abort();
      },
    );
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('requestfailed', (request) => complaints.push(request.url()));
  });

  afterAll(async () => {
    await browser.close();
    await app.stop();
  });

  it('leads a new user through the first steps: Authorize, Get Team, Try it out, Execute', async () => {
    const response = await page.goto(`${origin}/docs`);
    const policy = response?.headers()['content-security-policy'];
    expect(policy).toContain("default-src 'none';script-src 'self';");
    expect(policy).not.toMatch(/unsafe-eval|upgrade-insecure-requests/);
    await page.getByText('Your first call').waitFor();
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/docs-1.png` });

    // Presses the buttons that the page names, by their labels.
    const steps = page.locator('.info .renderedMarkdown ol > li');
    const named = (step: number) => steps.nth(step).locator('strong, em').allInnerTexts();
    const press = (within: Page | Locator, text = 'nothing named') =>
      within.locator('button:visible').filter({ hasText: text }).click({ timeout: 5_000 });
    const [authorize, apply, close] = await named(0);
    await press(page, authorize);
    const dialog = page.locator('.dialog-ux');
    await dialog.getByLabel('Value').fill(key);
    await press(dialog, apply);
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/docs-2.png` });
    await press(dialog, close);

    const [name, tryIt, execute] = await named(1);
    const operation = page.locator('.opblock').filter({ hasText: name! });
    await press(operation, name);
    await press(operation, tryIt);
    await press(operation, execute);
    const shown = operation.locator('.live-responses-table');
    await shown.getByText('"name": "Acme"').waitFor();
    if (process.env.SCREENSHOTS)
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/docs-3.png`, fullPage: true });
    expect(await shown.locator('tbody .response-col_status').first().innerText()).toContain('200');
    expect(await shown.innerText()).toContain('x-ratelimit-remaining');
  });

  it('names commands that work', async () => {
    const texts = await page.locator('.info .renderedMarkdown ol code').allInnerTexts();
    const commands = texts.filter((text) => text.startsWith('npm '));
    expect(commands).toEqual(['npm run demo', expect.stringMatching(/^npm run -s cli -- key create /)]);
    const place = dataDirectory();
    await ProductProcess.run(['team', 'create', '--name', 'Acme'], place.env);
    const { code, out, err } = await ProductProcess.run(commands[1]!.split(' ').slice(5), place.env);
    expect([code, out, err]).toEqual([
      0,
      [expect.stringContaining('"key":')],
      expect.arrayContaining([expect.anything()]),
    ]);
    place.remove();
  });

  it('loads only from this server, without errors in the console', () => {
    expect([strangers, complaints]).toEqual([[], []]);
  });
});
