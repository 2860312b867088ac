import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { TEAM_KEY } from '../dataset/shape.js';
import { median } from '../load/stats.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import type { Service } from '../service.js';

const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell';
const VISITS = 15;
/** Resolves with the time of the first frame that has the chart. */
const WATCH = `
  window.chart = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.plot canvas')) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    }).observe(document, { childList: true, subtree: true });
  });`;
const READ = `window.chart.then((chart) => {
  const [page] = performance.getEntriesByType('navigation');
  const calls = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/'));
  const apps = calls.find(({ name }) => name.endsWith('/apps'));
  const series = calls.find(({ name }) => name.endsWith('/metrics'));
  return {
    loaded: page.loadEventStart,
    appsSent: apps.startTime,
    appsReceived: apps.responseEnd,
    seriesSent: series.startTime,
    seriesReceived: series.responseEnd,
    chart,
  };
})`;

/** Milliseconds since the start of the navigation, medians of 15 visits. */
interface FirstChart {
  /** The browser's event: page, script and style are there. */
  loaded: number;
  appsSent: number;
  appsReceived: number;
  /** The metrics over time; the chart is made of them. */
  seriesSent: number;
  seriesReceived: number;
  /** The first frame with the chart. */
  chart: number;
}

/** Visits to the overview of the largest app in Chromium. */
export interface DashboardTimes {
  /** Nothing in the browser's cache. */
  first: FirstChart;
  /** With the page's files in the cache, in a new tab. */
  again: FirstChart;
}

export async function measureDashboard(
  service: Service,
  options: Options,
): Promise<DashboardTimes | undefined> {
  if (!wants(options, 'dashboard') || !existsSync(CHROMIUM)) return undefined;
  progress('the first chart of the dashboard');
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    const url = `http://127.0.0.1:${service.port}/?app=1#key=${TEAM_KEY}`;
    await visit(browser, url);
    const first: FirstChart[] = [];
    const again: FirstChart[] = [];
    for (let nth = 0; nth < VISITS; nth++) {
      const [cold, warm] = await visit(browser, url);
      first.push(cold);
      again.push(warm);
    }
    return { first: computeMedians(first), again: computeMedians(again) };
  } finally {
    await browser.close();
  }
}

/** A new profile: a first visit, and one in another tab. */
async function visit(browser: Browser, url: string): Promise<[FirstChart, FirstChart]> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  await context.addInitScript(WATCH);
  const open = async () => {
    const page = await context.newPage();
    await page.goto(url);
    const times = await page.evaluate<FirstChart>(READ);
    // The other panels, which the next visit would wait for.
    await page.waitForLoadState('networkidle');
    await page.close();
    return times;
  };
  const times: [FirstChart, FirstChart] = [await open(), await open()];
  await context.close();
  return times;
}

function computeMedians(visits: readonly FirstChart[]): FirstChart {
  const names = Object.keys(visits[0] ?? {}) as (keyof FirstChart)[];
  return Object.fromEntries(
    names.map((name) => [name, median(visits.map((visit) => visit[name]))]),
  ) as unknown as FirstChart;
}
