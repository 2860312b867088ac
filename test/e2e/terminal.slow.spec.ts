import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

/** Writes the path of each file of the build to standard error when it is loaded. */
const SHOW_FILES = `data:text/javascript,
import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(\`
  export function load(url, context, next) {
    if (url.includes('/dist/') && !url.includes('/node_modules/')) process._rawDebug(new URL(url).pathname);
    return next(url, context);
  }\`));`;

/** The packages in a file of the build, which has a comment in front of each source, and those it imports. */
function listPackages(file: string): string[] {
  const names = /^(?:\/\/ node_modules\/|import .*from ")((?:@[^/"]+\/)?[^/"]+)/gm;
  return Array.from(readFileSync(file, 'utf8').matchAll(names), ([, name = '']) => name);
}

// Each process has the engine in it. Other systems have another `script`, which makes the terminal.
(process.platform === 'linux' ? describeEmbedded : describe.skip)('the command line', () => {
  const data = dataDirectory();
  const file = (name: string) => join(data.env.DATA_DIR!, '..', `${process.pid}-${name}`);
  const readAudit = (path: string) =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { audit: string }).audit);

  const onTerminal = async (args: string[], env: NodeJS.ProcessEnv) => {
    const { code, out } = await ProductProcess.run(args, env, { terminal: true });
    return { code, out };
  };

  afterAll(data.remove);

  it('loads no framework, validation or client of Redis for a command that needs none', async () => {
    const nodeOptions = ['--import', SHOW_FILES];
    const { code, err } = await ProductProcess.run(['team', 'list'], data.env, { nodeOptions });
    const packages = err.filter((line) => line.endsWith('.js')).flatMap(listPackages);
    expect([code, packages]).toEqual([0, expect.arrayContaining(['commander', '@clickhouse/client'])]);
    expect(
      packages.filter((name) =>
        /^(?:@nestjs|express|rxjs|class-|zod|ioredis|nodemailer|@opentelemetry)/.test(name),
      ),
    ).toEqual([]);
  });

  it('prints tables on a terminal, and its audit lines to a file instead', async () => {
    for (const name of ['東京', 'Ac\u001b[31mme\u202e', 'Shop'])
      await ProductProcess.run(['team', 'create', '--name', name], data.env);
    expect(await onTerminal(['team', 'list'], data.env)).toEqual({
      code: 0,
      out: [
        'ID  NAME                  PLAN',
        '1   東京                  premium',
        '2   Ac\\u001b[31mme\\u202e  premium',
        '3   Shop                  premium',
      ],
    });
    const updated = await onTerminal(['team', 'set-plan', '--team', '3', '--plan', 'free'], data.env);
    expect(updated.out).toEqual(['id    3', 'name  Shop', 'plan  free']);
    const none = await onTerminal(['app', 'list', '--team', '3'], data.env);
    expect(none.out).toEqual(['There is nothing to list.']);
    const log = join(data.env.DATA_DIR!, 'audit.log');
    expect(readAudit(log)).toEqual(['team.list', 'team.set-plan', 'app.list']);
    expect(statSync(log).mode & 0o777).toBe(0o600);
  });

  it('prints JSON in a pipe, and on a terminal with --json', async () => {
    const { out } = await ProductProcess.run(['team', 'list'], data.env);
    expect(out).toHaveLength(3);
    expect(out[2]).toBe('{"id":3,"name":"Shop","plan":"free"}');
    const forced = await onTerminal(['team', 'list', '--json'], data.env);
    expect(forced.out).toEqual(out);
    const refused = await ProductProcess.run(['team', 'delete', '--team', '3'], data.env);
    expect([refused.code, refused.err.at(-1)]).toEqual([
      1,
      'error: This cannot be undone: confirm it with --yes',
    ]);
  });

  it('appends audit lines to AUDIT_LOG, and to standard error where that is not possible', async () => {
    const env = { ...data.env, AUDIT_LOG: file('audit.log') };
    const kept = await ProductProcess.run(['team', 'list'], env);
    expect([kept.err, readAudit(env.AUDIT_LOG)]).toEqual([[], ['team.list']]);
    const lost = await ProductProcess.run(['team', 'list'], { ...env, AUDIT_LOG: '/nowhere/audit.log' });
    expect([lost.code, lost.err]).toEqual([0, [expect.stringContaining('"audit":"team.list"')]]);
  });

  it('keeps rejected lines byte for byte in the file of --rejects', async () => {
    await ProductProcess.run(['app', 'create', '--team', '1', '--name', 'Shop'], data.env);
    const good = JSON.stringify({
      timestamp: new Date().toISOString(),
      method: 'GET',
      url: 'https://a.example/b',
      status_code: 200,
    });
    const bad = [
      Buffer.from('{"status_code":1}\r'),
      Buffer.from([0x22, 0xff, 0xfe, 0x41]),
      Buffer.from('{"a":"é"}'),
    ];
    const lines = [Buffer.from(good), bad[0]!, Buffer.from('  '), bad[1]!, bad[2]!];
    const source = file('source.ndjson');
    writeFileSync(
      source,
      Buffer.concat(lines.flatMap((line, n) => (n === 0 ? [line] : [Buffer.from('\n'), line]))),
    );
    const rejects = file('rejects.ndjson');
    const args = ['import', source, '--app', '1', '--rejects', rejects];
    const imported = await ProductProcess.run(args, data.env);
    expect([imported.code, JSON.parse(imported.out[0]!)]).toEqual([
      0,
      expect.objectContaining({ read: 4, imported: 1, rejected: 3 }),
    ]);
    expect(readFileSync(rejects)).toEqual(Buffer.concat(bad.flatMap((line) => [line, Buffer.from('\n')])));

    const repeated = await ProductProcess.run(args, data.env);
    expect([repeated.code, readFileSync(rejects)]).toEqual([0, readFileSync(`${rejects}.1`)]);
    expect(repeated.err).toContain(`there was a file ${rejects} already: it is ${rejects}.1 now`);

    // The kept lines alone are an import without a valid line.
    const again = file('again.ndjson');
    const failed = await ProductProcess.run(['import', rejects, '--app', '1', '--rejects', again], data.env);
    expect(failed.code).toBe(1);
    expect(failed.err.at(-1)).toBe('error: nothing was imported: all lines were rejected (3)');
    expect(readFileSync(again)).toEqual(readFileSync(rejects));

    const before = readFileSync(source);
    const overwriting = await ProductProcess.run(
      ['import', source, '--app', '1', '--rejects', source],
      data.env,
    );
    expect([overwriting.code, overwriting.err.at(-1)]).toEqual([
      1,
      expect.stringMatching(/^error: There is a file/),
    ]);
    expect(readFileSync(source)).toEqual(before);

    writeFileSync(source, `${good}\n`);
    const unneeded = file('unneeded.ndjson');
    expect(
      (await ProductProcess.run(['import', source, '--app', '1', '--rejects', unneeded], data.env)).code,
    ).toBe(0);
    const missing = await ProductProcess.run(
      ['import', file('no'), '--app', '1', '--rejects', unneeded],
      data.env,
    );
    expect([missing.code, existsSync(unneeded)]).toEqual([1, false]);
  });

  it.each([['verify'], ['doctor'], ['export --app 1'], ['openapi'], ['team list']])(
    'ends %s quietly, with 141, when the reader of its output is gone',
    (command) => {
      const program = [process.execPath, 'dist/cli.cjs', ...command.split(' ')];
      const { stdout, stderr } = spawnSync(
        'bash',
        ['-c', '"$@" | true; echo "${PIPESTATUS[0]}"', 'bash', ...program],
        {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
          env: { PATH: process.env.PATH, ...data.env, AUDIT_LOG: file('piped.log') },
        },
      );
      expect([stdout, stderr]).toEqual(['141\n', '']);
    },
  );
});
