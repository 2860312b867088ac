import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { TestApp } from '../setup/app.js';
import { HOST } from '../setup/browser.js';

/** Where pictures are written; left out: none are made. */
const { SCREENSHOTS } = process.env;
/** Half the characters of what the package gives: each page that it runs in reads it again. */
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
const VIEWPORT = { width: 1280, height: 860 };
/** A desk and a phone. */
const WIDTHS = [1440, 390];
/** The rules of axe-core that read colors. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
/**
 * Sums what moves after it is shown, keeps what is copied, and reports the requests: the browser's protocol
 * leaves out bodies of `Request` objects.
 */
const WATCH = `
  window.shifts = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifts += value;
  }).observe({ type: 'layout-shift', buffered: true });
  document.addEventListener('copy', ({ target }) => { window.copied = target.value; });
  const send = window.fetch;
  window.fetch = async (request) => {
    const body = request.method === 'POST' ? await request.clone().text() : null;
    await window.recordCall(request.method, request.url, body);
    return send(request);
  };`;

/** A request that the page made of the API. */
export interface ApiCall {
  method: string;
  path: string;
  body: Record<string, unknown> | undefined;
}

/** A proxy that serves the service below a path, which it removes. */
export async function startProxy(url: string, path: string): Promise<{ origin: string; close: () => void }> {
  const { hostname, port } = new URL(url);
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers } = incoming;
    const target = incoming.url?.startsWith(`${path}/`) ? incoming.url.slice(path.length) : '/stranger';
    incoming.pipe(
      forward({ hostname, port, path: target, method, headers }, (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    origin: `http://${HOST}:${(proxy.address() as AddressInfo).port}`,
    close: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

/** A promise of the page, kept once the effects of its last change have run: they follow a frame. */
const AFTER_EFFECTS = `new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))`;

/** The dashboard in a tab of its own. */
export class DashboardPage {
  readonly calls: ApiCall[] = [];
  /** What the browser complained of: errors, violations of the policy, requests to others. */
  readonly complaints: string[] = [];
  /** Whether it has a clock or options that stay. */
  private isSpent: boolean;

  private constructor(
    readonly page: Page,
    readonly origin: string,
    options?: BrowserContextOptions,
  ) {
    this.isSpent = options !== undefined;
  }

  /** @param options left out: those of most tests. An animation takes more time than the page. */
  static async open(browser: Browser, app: TestApp, options?: BrowserContextOptions): Promise<DashboardPage> {
    const origin = app.url.replace('127.0.0.1', HOST);
    const context = await browser.newContext({
      viewport: VIEWPORT,
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
      ...options,
    });
    const page = await context.newPage();
    const dashboard = new DashboardPage(page, origin, options);
    await page.exposeFunction('recordCall', (method: string, url: string, body: string | null) => {
      const { pathname, search } = new URL(url);
      const parsed = body === null ? undefined : (JSON.parse(body) as Record<string, unknown>);
      dashboard.calls.push({ method, path: pathname + search, body: parsed });
    });
    await page.addInitScript(WATCH);
    page.on('request', (request) => {
      const isOwn = new URL(request.url()).origin === origin || request.url().startsWith(`blob:${origin}`);
      if (!isOwn && request.url() !== 'about:blank') dashboard.complaints.push(`asked ${request.url()}`);
    });
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) dashboard.complaints.push(message.text());
    });
    page.on('pageerror', (error) => dashboard.complaints.push(error.message));
    page.on('dialog', (dialog) => {
      dashboard.complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    return dashboard;
  }

  /** The tab of the test before as if it were new, where it can be: that takes less time than another one. */
  static async renew(
    browser: Browser,
    app: TestApp,
    before: DashboardPage | undefined,
  ): Promise<DashboardPage> {
    if (!before || before.isSpent) return DashboardPage.open(browser, app);
    const { page, origin } = before;
    await page.setViewportSize(VIEWPORT);
    await page.emulateMedia({ colorScheme: null });
    await page.goto(`${origin}/health`);
    await before.evaluate('[sessionStorage, localStorage].forEach((storage) => storage.clear())');
    await page.goto('about:blank');
    before.calls.splice(0);
    before.complaints.splice(0);
    return before;
  }

  /** After a test: nothing of the page goes on. */
  async leave(): Promise<void> {
    const { page } = this;
    const context = page.context();
    if (this.isSpent) {
      await context.close();
      return;
    }
    for (const other of context.pages()) if (other !== page) await other.close();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.setOffline(false);
    await page.mouse.move(0, 0);
    await page.goto('about:blank');
  }

  /** From now on the clock of the page is the test's: `page.clock`. */
  async installClock(time?: number): Promise<void> {
    this.isSpent = true;
    await this.page.clock.install(time === undefined ? {} : { time });
  }

  /** Opens a view with a key in the fragment, as the demo's link does, and waits until it is loaded. */
  async visit(search: string, key: string): Promise<void> {
    // Another fragment alone would not load the page again.
    if (this.page.url() !== 'about:blank') await this.page.goto('about:blank');
    await this.page.goto(`${this.origin}/${search}#key=${key}`);
    await this.loaded();
  }

  async loaded(): Promise<void> {
    // A click's requests begin in an effect: until then nothing is busy.
    await this.evaluate(AFTER_EFFECTS);
    await this.page.locator('main:not([aria-busy="true"])').waitFor();
    await this.page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' });
  }

  get url(): URL {
    return new URL(this.page.url());
  }

  evaluate<Value>(expression: string): Promise<Value> {
    return this.page.evaluate<Value>(expression);
  }

  /** The chart's pixels, once effects of the last change have drawn. */
  drawing(): Promise<string> {
    return this.evaluate(`${AFTER_EFFECTS}.then(() => document.querySelector('.plot canvas').toDataURL())`);
  }

  /** As if the user chose another tab, or came back to this one. */
  async setVisibility(state: 'hidden' | 'visible'): Promise<void> {
    await this
      .evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
  }

  /** The rules that axe-core finds broken, each with the elements. */
  private async findings(within: string | undefined, rules?: readonly string[]): Promise<string[]> {
    if (!(await this.evaluate('!!window.axe'))) await this.page.evaluate(AXE);
    const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
    const context = within === undefined ? 'document' : JSON.stringify(within);
    return this.page.evaluate<string[]>(`axe.run(${context}, ${options}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + failureSummary)))`);
  }

  /**
   * Pictures of what is shown on a desk and on a phone, light and dark, each without findings of axe-core.
   *
   * @param box a box over a page that is checked without it: its selector, and how it is opened at each width
   */
  async expectAccessible(
    name: string,
    box?: { selector: string; open: () => Promise<void>; close: () => Promise<void> },
  ): Promise<void> {
    for (const width of WIDTHS) {
      await this.page.setViewportSize({ width, height: 860 });
      await box?.open();
      for (const colorScheme of ['light', 'dark'] as const) {
        await this.page.emulateMedia({ colorScheme });
        await this.screenshot(`${name}-${width}-${colorScheme}`);
        // The dark colors alone differ.
        const isDark = colorScheme === 'dark';
        // The box with the page once, for what is said of both.
        const within = isDark || width !== WIDTHS[0] ? box?.selector : undefined;
        const findings = await this.findings(within, isDark ? COLOR_RULES : undefined);
        expect([name, width, colorScheme, findings]).toEqual([name, width, colorScheme, []]);
      }
      await box?.close();
    }
  }

  /** A picture for people, where they are asked for. */
  async screenshot(name: string): Promise<void> {
    if (!SCREENSHOTS) return;
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: `${SCREENSHOTS}/${name}.png` });
  }
}

/** The arguments that a shell gives to curl. */
export function shellWords(command: string): string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${command}`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}
