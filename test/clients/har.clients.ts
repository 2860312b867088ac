import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { TestApp } from '../setup/app.js';
import { listShellBlocks } from '../setup/document-blocks.js';
import { Tenant } from '../setup/tenant.js';

const run = promisify(execFile);
const INSTALLED_WITHIN_MS = 300_000;

describe('programs that read HTTP Archives, as docs/exports.md calls them', () => {
  const directory = mkdtempSync(join(tmpdir(), 'har-'));
  const [download, programs] = listShellBlocks('docs/exports.md').filter(({ text }) =>
    text.includes('day.har'),
  );
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const captured_json = toCaptureJson({
      ...EMPTY_CAPTURE,
      response_headers: [['content-type', 'application/json']],
      response_body_json: '{"id":7,"name":"株"}',
    });
    const timestamp = new Date().setUTCHours(0, 0, 0, 0);
    await tenant.write(
      ...['products/7', 'products/8', 'search?q=bike%20bell'].map((path, index) => ({
        timestamp: timestamp + index,
        url: `https://api.shop.example/v1/${path}`,
        captured_json,
      })),
    );
  });

  afterAll(async () => {
    await app.stop();
    rmSync(directory, { recursive: true });
  });

  const shell = (commands: string) => {
    const script = commands.replace(
      'http://localhost:3000/v1/apps/1/',
      `${app.url}/v1/apps/${tenant.appId}/`,
    );
    const env = { ...process.env, API_KEY: tenant.key, npm_config_ignore_scripts: 'true' };
    return run('bash', ['-o', 'pipefail', '-ec', script], { cwd: directory, env });
  };

  it(
    'write a document of the traffic, find no drift from it, and write a test of load',
    async () => {
      const { stdout, stderr } = await shell(`${download!.text}${programs!.text}`);
      expect(`${stdout}${stderr}`).toContain('total=3 documented=3 undocumented=0');
      const replay = readFileSync(join(directory, 'replay.js'), 'utf8');
      expect(replay).toContain("http.get('https://api.shop.example/v1/search?q=bike%20bell')");
      const document = readFileSync(join(directory, 'openapi.yaml'), 'utf8');
      writeFileSync(join(directory, 'other.yaml'), document.replace('/v1/search:', '/v1/searches:'));
      const drift = /^npx redocly drift .*$/m.exec(programs!.text)![0].replace('openapi.yaml', 'other.yaml');
      await expect(shell(drift)).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringContaining('Undocumented endpoint: GET /v1/search') as string,
      });
    },
    INSTALLED_WITHIN_MS,
  );
});
