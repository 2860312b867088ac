import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

describeEmbedded('the first five minutes', () => {
  let cwd: string;

  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'first-minutes-'));
  });

  afterEach(async () => {
    await ProductProcess.endAll();
    rmSync(cwd, { recursive: true, force: true });
  });

  it('init makes all that a first application needs, and every later command finds it', async () => {
    const { code, out, err } = await ProductProcess.run(
      ['init', '--team', 'Acme', '--app', 'Shop'],
      {},
      { cwd },
    );
    expect(code).toBe(0);
    const made = JSON.parse(out.join('')) as { key: string; write_token: string; client_id: string };
    expect(made).toEqual({
      team_id: 1,
      app_id: 1,
      client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: expect.stringMatching(/^[A-Za-z0-9]{7}\.[A-Za-z0-9]{32}$/),
      write_token: expect.stringMatching(/^apt_[A-Za-z0-9]{24}$/),
    });
    expect(err).toContain(`${cwd}/.env names the store from now on: DATA_DIR='${cwd}/data'`);
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(`DATA_DIR='${cwd}/data'\n`);

    const server = await ProductProcess.start(['serve'], {}, { cwd });
    const team = await fetch(`${server.apiUrl}/v1/team`, { headers: { 'Api-Key': made.key } });
    expect(await team.json()).toEqual({ id: 1, name: 'Acme' });
    const again = await ProductProcess.run(['init'], {}, { cwd });
    expect(again.code).toBe(1);
    expect(again.err.at(-1)).toBe(
      `error: the store in ${cwd}/data has a team already: 1 "Acme". ` +
        'Add to it with app create --team 1, key create --team 1 and write-token create.',
    );
    const token = await ProductProcess.run(['write-token', 'create', '--app', '1'], {}, { cwd });
    expect(token.err).toContain(`Created in app 1 "Shop", team 1 "Acme", the store in ${cwd}/data.`);
    const app = await ProductProcess.run(['app', 'create', '--team', '1', '--name', 'Web'], {}, { cwd });
    expect(app.err).toContain(`Created in team 1 "Acme", the store in ${cwd}/data.`);
  });

  it('the first serve on a terminal makes the same; elsewhere the log names init', async () => {
    const terminal = await ProductProcess.begin(['serve'], { LOG_LEVEL: 'silent' }, { cwd, terminal: true });
    await eventually(() => terminal.out.some((line) => line.includes('#key=')), 30_000);
    const said = terminal.out.join('\n');
    expect(said).toContain(`Created in the store in ${cwd}/data: team 1 "My team", app 1 "My API".`);
    expect(said).toMatch(/Applications send to the collector at http:\/\/127\.0\.0\.1:\d+\./);
    for (const paste of ['node --require', 'opentelemetry-instrument uvicorn', 'import access.log --app 1'])
      expect(said).toContain(paste);
    const [, key = ''] = /#key=(\S+)/.exec(said) ?? [];
    const { status } = await fetch(`${terminal.apiUrl}/v1/team`, { headers: { 'Api-Key': key } });
    expect([status, existsSync(join(cwd, '.env'))]).toEqual([200, true]);
    await terminal.crash();

    const elsewhere = await ProductProcess.start(['serve'], { DATA_DIR: join(cwd, 'other') }, { cwd });
    await eventually(() =>
      elsewhere.log.some(
        ({ msg }) =>
          msg ===
          'There is no API key yet: request-analytics init makes one, with a team, an app and a write token.',
      ),
    );
  });

  it('a port that is taken is named before a store is made', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    for (const [args, variable] of [
      [['serve'], 'PORT'],
      [['collector'], 'COLLECTOR_PORT'],
    ] as const) {
      const COLLECTOR_PORT = String(await freePort());
      const settings = { HOST: '127.0.0.1', COLLECTOR_PORT, COLLECTOR_GRPC_PORT: 'off' };
      const env = { ...settings, [variable]: port };
      const { code, err } = await ProductProcess.run(args, env, { cwd });
      expect([code, err]).toEqual([
        1,
        [
          `${variable}: another program listens on port ${port} of 127.0.0.1. Stop it, or set ${variable} to a free port.`,
        ],
      ]);
    }
    expect(existsSync(join(cwd, 'data'))).toBe(false);
    other.close();
  });
});
