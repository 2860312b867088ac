import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { TestApp } from '../setup/app.js';
import { listShellBlocks } from '../setup/document-blocks.js';
import { Tenant } from '../setup/tenant.js';

const run = promisify(execFile);
const hasJq = spawnSync('jq', ['--version']).status === 0;

describe('the lines of docs/exports.md', () => {
  let app: TestApp;
  let tenant: Tenant;
  const directory = mkdtempSync(join(tmpdir(), 'exports-'));
  const [parquet = '', pipeline = ''] = listShellBlocks('docs/exports.md').map(({ text }) => text);

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const timestamp = Date.parse(execFileSync('date', ['-u', '+%F'], { encoding: 'utf8' }).trim());
    await tenant.write(
      ...[10, 20, 30].map((response_time_ms) => ({ timestamp, path: '/slow', response_time_ms })),
      { timestamp, path: '/fast', status_code: 503, response_time_ms: 1 },
      { timestamp, path: '/slow', status_code: 500, response_time_ms: 40 },
      { timestamp, path: '/slow', status_code: 500, response_time_ms: 50 },
    );
  });

  afterAll(async () => {
    rmSync(directory, { recursive: true });
    await app.stop();
  });

  /** Runs commands in a shell, against this application. */
  const shell = async (commands: string) => {
    const script = commands.replaceAll(
      'http://localhost:3000/v1/apps/1/',
      `${app.url}/v1/apps/${tenant.appId}/`,
    );
    const options = { cwd: directory, env: { ...process.env, API_KEY: tenant.key } };
    return (await run('bash', ['-o', 'pipefail', '-ec', script], options)).stdout;
  };

  it('write a file of a day that DuckDB reads', async () => {
    const [, download = '', sql = ''] = /^([^]*)^duckdb -c "([^"]+)"\n$/m.exec(parquet) ?? [];
    await shell(download);
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const result = await connection.runAndReadAll(sql.replace("'day.parquet'", `'${directory}/day.parquet'`));
    expect(result.getRowsJson()).toEqual([
      ['/slow', '5', 48],
      ['/fast', '1', 1],
    ]);
    connection.closeSync();
    instance.closeSync();
  });

  (hasJq ? it : it.skip)('count the paths that fail most, with jq', async () => {
    const counted = (await shell(pipeline)).trim().split(/\s*\n\s*/);
    expect(counted).toEqual(['2 /slow', '1 /fast']);
  });
});
