import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';

const run = promisify(execFile);
const INSTALLED_WITHIN_MS = 600_000;

/** The package as `npm publish` would send it, installed where nothing else is. */
describe('the packed tarball in an empty directory', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tarball-'));

  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it(
    'has a command that npx runs: the demo serves its data',
    async () => {
      await run('npm', ['pack', '--ignore-scripts', '--pack-destination', directory]);
      const [tarball = ''] = readdirSync(directory);
      const install = ['install', '--omit', 'dev', '--no-audit', '--no-fund', join(directory, tarball)];
      await run('npm', install, { cwd: directory });
      const [PORT, COLLECTOR_PORT] = [await freePort(), await freePort()].map(String);
      const { PATH, HOME } = process.env;
      const demo = spawn('npx', ['--no-install', 'request-analytics', 'demo'], {
        cwd: directory,
        env: { PATH, HOME, HOST: '127.0.0.1', PORT, COLLECTOR_PORT, COLLECTOR_GRPC_PORT: 'off' },
        detached: true,
      });
      let output = '';
      for (const stream of [demo.stdout, demo.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      // npx ends before the demo does, which still writes to its store.
      const ended = once(demo, 'close');
      try {
        const key = await eventually(() => {
          if (demo.exitCode !== null) throw new Error(output);
          return /API key +(\S+)/.exec(output)?.[1];
        }, 120_000);
        const url = `http://127.0.0.1:${PORT}`;
        const apps = await fetch(`${url}/v1/apps`, { headers: { 'Api-Key': key } });
        expect(await apps.json()).toMatchObject({ data: [{ name: 'Shop API' }] });
        const page = await fetch(url);
        expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')]);
      } finally {
        // If it has ended, the error above says why.
        if (demo.exitCode === null) process.kill(-demo.pid!, 'SIGTERM');
        await ended;
      }
    },
    2 * INSTALLED_WITHIN_MS,
  );
});
