import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The browser without its own windows: these take as much of the processor as the pages. */
const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell';
/** A name that is not this machine's own, so that pages are served as to anybody: over plain HTTP. */
export const HOST = 'pages.test';
/** Nothing of the browser's own may call home, and no sandbox is to be had in a container. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${HOST} 127.0.0.1`,
];

if (process.env.CI && !existsSync(CHROMIUM))
  throw new Error('Install chromium-headless-shell: its tests must not be skipped');
export const describeWithChromium = existsSync(CHROMIUM) ? describe : describe.skip;

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
}
