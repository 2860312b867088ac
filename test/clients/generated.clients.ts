import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TestApp } from '../setup/app.js';
import { allOperations } from '../setup/document.js';
import { Tenant } from '../setup/tenant.js';
import { GENERATED_CLIENTS } from './generated.js';
import { findObstacle, locate } from './packages.js';

const run = promisify(execFile);

describe('clients that are generated of the document', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    await tenant.write({ consumer: { identifier: 'bob' } });
  });

  afterAll(() => app.stop());

  for (const {
    name,
    packages,
    env = {},
    run: [program, ...args],
  } of GENERATED_CLIENTS) {
    const obstacle = findObstacle(packages);
    if (obstacle !== undefined) process.stderr.write(`skipped: ${name}, because ${obstacle}\n`);
    (obstacle === undefined ? it : it.skip)(`${name}: compiles, and calls all operations`, async () => {
      const { stdout } = await run(program, args, {
        cwd: locate(packages),
        env: {
          ...{ PATH: process.env.PATH, ...env },
          ...{ API_URL: app.url, API_KEY: tenant.key, APP_ID: String(tenant.appId) },
        },
      });
      const expected = allOperations.map(({ id }) => `${id} 200`);
      expect(stdout.trim().split('\n').sort()).toEqual(expected.sort());
    });
  }
});
