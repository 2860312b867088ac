import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { dataDirectory } from '../setup/data-directory.js';
import { type Ended, ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

const SECRET = 's'.repeat(32);

/** What the command line says of a command to an audit. */
function readAudit({ err }: Ended): Record<string, unknown>[] {
  return err
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

// Each process has the engine in it.
describeEmbedded('the audit of administrative commands', () => {
  const data = dataDirectory();
  const run = (...args: string[]) => ProductProcess.run(args, { ...data.env, LOG_LEVEL: 'silent' });
  const said: string[] = [];

  afterAll(data.remove);

  /** Runs a command, holds its one line against what is expected, and gives its standard output. */
  async function audited(args: string[], expected: object, code = 0): Promise<string> {
    const ended = await run(...args);
    expect([args, ended.code, readAudit(ended)]).toEqual([args, code, [expect.objectContaining(expected)]]);
    expect(readAudit(ended)[0]).toMatchObject({
      msg: 'audit',
      actor: userInfo().username,
      uid: userInfo().uid,
      time: expect.any(Number),
      duration_ms: expect.any(Number),
    });
    said.push(...ended.err);
    return ended.out.join('\n');
  }

  it('has a line for each: what, who, to what, how it ended; standard output has the result alone', async () => {
    const file = join(data.env.DATA_DIR!, '..', 'audit-import.ndjson');
    const record = {
      timestamp: new Date().toISOString(),
      method: 'GET',
      url: 'https://a.example/b',
      status_code: 200,
    };
    writeFileSync(file, `${JSON.stringify({ ...record, path: '/b' })}\nnot a line\n`);
    const ok = { level: 30, outcome: 'ok' };
    await audited(['migrate'], { audit: 'migrate', ...ok, version: expect.any(Number) });
    const team = await audited(['team', 'create', '--name', 'Acme'], {
      audit: 'team.create',
      team_id: 1,
      ...ok,
    });
    expect(JSON.parse(team)).toEqual({ id: 1, name: 'Acme', plan: 'premium' });
    await audited(['team', 'list'], { audit: 'team.list', ...ok });
    const app = ['app', 'create', '--team', '1', '--name', 'Shop'];
    expect(
      JSON.parse(await audited(app, { audit: 'app.create', team_id: 1, app_id: 1, ...ok })),
    ).toMatchObject({ id: 1 });
    await audited(['app', 'list', '--team', '1'], { audit: 'app.list', team_id: 1, ...ok });
    const created = await audited(['key', 'create', '--team', '1', '--expires', '2100-01-01'], {
      audit: 'key.create',
      team_id: 1,
      key: expect.stringMatching(/^[A-Za-z0-9]{7}$/),
      expires: '2100-01-01T00:00:00.000Z',
      ...ok,
    });
    const { key, identifier } = JSON.parse(created) as { key: string; identifier: string };
    await audited(['key', 'list', '--team', '1'], { audit: 'key.list', team_id: 1, ...ok });
    await audited(['key', 'revoke', identifier], { audit: 'key.revoke', key: identifier, ...ok });
    const imported = { imported: 1, duplicates: 0, rejected: 1 };
    await audited(['import', file, '--app', '1'], {
      audit: 'import',
      app_id: 1,
      env: 'prod',
      ...imported,
      ...ok,
    });
    const endpoint = ['--app', '1', '--method', 'get', '--path', '/b'];
    for (const mark of ['exclude', 'include'])
      await audited(['endpoint', mark, ...endpoint], {
        audit: `endpoint.${mark}`,
        app_id: 1,
        endpoint_id: 1,
        method: 'get',
        path: '/b',
        ...ok,
      });
    for (const remove of [[], ['--remove']]) {
      const printed = await audited(['endpoint', 'expect-error', ...endpoint, '--status', '404', ...remove], {
        audit: 'endpoint.expect-error',
        app_id: 1,
        endpoint_id: 1,
        method: 'get',
        path: '/b',
        status: 404,
        remove: remove.length > 0,
        ...ok,
      });
      const marked = { id: 1, method: 'GET', path: '/b', status_code: 404, expected: remove.length === 0 };
      expect(JSON.parse(printed)).toEqual(marked);
    }
    expect(said.join('\n')).not.toContain(key);
    expect(said.join('\n')).not.toMatch(/[0-9a-f]{64}/);
  });

  it('has a line for what was refused, and for what failed', async () => {
    const refused = { level: 40, outcome: 'refused', error: 'AdminError' };
    await audited(['key', 'create', '--team', '9'], { audit: 'key.create', team_id: 9, ...refused }, 1);
    await audited(
      ['app', 'create', '--team', '9', '--name', 'x'],
      { audit: 'app.create', team_id: 9, ...refused },
      1,
    );
    await audited(['import', '-', '--app', '9'], { audit: 'import', app_id: 9, ...refused }, 1);
    const failed = { level: 40, outcome: 'failed', error: 'LineSourceError' };
    await audited(['import', '/nowhere', '--app', '1'], { audit: 'import', app_id: 1, ...failed }, 1);
    const misconfigured = await ProductProcess.run(['team', 'list'], { ...data.env, PORT: 'many' });
    expect([misconfigured.code, readAudit(misconfigured)]).toMatchObject([
      78,
      [{ outcome: 'failed', error: 'ConfigError' }],
    ]);
  });

  it('has no key, also if a key was passed in place of its identifier', async () => {
    for (const [typed, key] of [
      [`abcdefg.${SECRET}`, 'abcdefg'],
      [SECRET, 'malformed'],
    ] as const) {
      const ended = await run('key', 'revoke', typed);
      expect([ended.code, ended.out]).toEqual([1, []]);
      expect(readAudit(ended)).toMatchObject([{ audit: 'key.revoke', key, outcome: 'refused' }]);
      expect(ended.err.join('\n')).not.toContain(SECRET);
    }
  });

  it('has nothing of a command that was not understood, since nothing was done', async () => {
    const ended = await run('team', 'create');
    expect([ended.code, readAudit(ended)]).toEqual([1, []]);
  });
});
