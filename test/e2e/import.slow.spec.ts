import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type ImportOptions, type ImportSummary, Importer } from '../../src/sources/lines/files/importer.js';
import { READS_ZSTD } from '../../src/sources/lines/files/zstd.js';
import { TestApp } from '../setup/app.js';
import { hasProgram, pack } from '../setup/compress.js';
import { runCommand } from '../setup/command.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
import { type Ended, ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';
import { type LogBody, Tenant } from '../setup/tenant.js';

const SECOND = 1_000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The time of an access log, `seconds` ago. */
function ago(seconds: number): string {
  const date = new Date(Date.now() - seconds * SECOND);
  const [day, time] = date.toISOString().slice(8, 19).split('T');
  return `${day}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}:${time} +0000`;
}

const logLine = (seconds: number, target = '/a', user = '-') =>
  `203.0.113.7 - ${user} [${ago(seconds)}] "GET ${target} HTTP/1.1" 200 512 "https://a.example/" "curl/8" 0.250`;

describe('an import', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterAll(() => app.stop());

  /** Imports lines, in pieces of a length of their own. */
  async function bring(
    tenant: Tenant,
    lines: readonly string[],
    options: Partial<ImportOptions> = {},
    piece = 1_000,
  ): Promise<ImportSummary> {
    const defaults = { appId: tenant.appId, env: 'prod', source: '', now: Date.now() };
    const importer = new Importer(app.writer, { ...defaults, ...options });
    for (let at = 0; at < lines.length; at += piece)
      await importer.add(
        lines.slice(at, at + piece).map((text, index) => ({ number: at + index + 1, text })),
      );
    return importer.end();
  }

  const logged = async (tenant: Tenant) => (await tenant.logs({ limit: 1000 })).data;

  it('finds the lines of a log that lost its first ones, however it is read, and counts equal lines each', async () => {
    const tenant = await Tenant.create(app);
    // Four lines in a second are equal.
    const lines = Array.from({ length: 600 }, (_, index) => logLine(600 - Math.floor(index / 4)));
    expect(await bring(tenant, lines)).toMatchObject({ imported: 600, duplicates: 0 });
    for (const [lost, piece] of [
      [0, 7],
      [1, 1_000],
      [2, 64],
      [333, 1],
    ] as const)
      expect(await bring(tenant, lines.slice(lost), {}, piece)).toMatchObject({
        imported: 0,
        duplicates: 600 - lost,
      });
    expect(await bring(tenant, [...lines, logLine(10)])).toMatchObject({ imported: 1, duplicates: 600 });
    expect((await logged(tenant)).length).toBe(601);
  });

  it('says what it was about, and what it counted and did not log', async () => {
    const tenant = await Tenant.create(app);
    const defaults = { appId: tenant.appId, env: 'prod', source: '', now: Date.now() };
    const importer = new Importer(app.writer, defaults);
    const lines = [
      `www.example.com:443 ${logLine(20 * 24 * 3600)}`,
      logLine(60).replace(' 0.250', ''),
      logLine(50, '/assets/app.3f2a.js'),
      logLine(40, '/healthz'),
      logLine(30, '/robots.txt'),
      'x',
    ];
    await importer.add(lines.map((text, index) => ({ number: index + 1, text })));
    expect(await importer.end()).toMatchObject({ imported: 5, rejected: 1, logged: 1 });
    const { from, to, ...profile } = importer.profile.summarize();
    expect(profile).toEqual({
      hosts: ['www.example.com'],
      with_response_time: 4,
      not_logged: { older_than_15_days: 1, static_assets: 2, health_checks: 1 },
    });
    expect(Date.parse(to!) - Date.parse(from!)).toBe((20 * 24 * 3600 - 30) * SECOND);
  });

  it('counts as logged what the logs keep', async () => {
    const tenant = await Tenant.create(app);
    const lines = [logLine(20 * 24 * 3600), logLine(60)];
    expect(await bring(tenant, lines)).toMatchObject({ imported: 2, logged: 1 });
    expect(await logged(tenant)).toHaveLength(1);
  });

  it('counts the equal lines of a second node when its source is named', async () => {
    const tenant = await Tenant.create(app);
    const checks = Array.from({ length: 30 }, (_, index) => logLine(300 - index * 10, '/check'));
    expect(await bring(tenant, checks, { source: 'web-1' })).toMatchObject({ imported: 30 });
    expect(await bring(tenant, checks, { source: 'web-2' })).toMatchObject({ imported: 30, duplicates: 0 });
    expect(await bring(tenant, checks, { source: 'web-2' })).toMatchObject({ imported: 0, duplicates: 30 });
    const { data } = await tenant.traffic();
    expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(60);
  });

  it('keeps what an access log knows: host, address, user, user agent, referer, time', async () => {
    const tenant = await Tenant.create(app);
    const line = `www.example.com:443 ${logLine(60, '/orders/7?full=1', 'john [x]')}`;
    expect(await bring(tenant, [line], { consumerFrom: 'user' })).toMatchObject({ imported: 1 });
    const [log] = await logged(tenant);
    const { body } = await tenant.get(`request-logs/${log!.request_uuid}`);
    expect(body).toMatchObject({
      consumer: 'john [x]',
      path: '/orders/{id}',
      url: 'https://www.example.com/orders/7?full=1',
      client_ip: '203.0.113.7',
      response_time_ms: 250,
      request_headers: [
        ['user-agent', 'curl/8'],
        ['referer', 'https://a.example/'],
      ],
    });
  });

  it('returns each malicious path unchanged', async () => {
    const [tenant, other] = [await Tenant.create(app), await Tenant.create(app)];
    const piece = fc.oneof(
      fc.constantFrom(
        '/',
        '/{id}',
        '/:id',
        '/[id]',
        '/<int:id>',
        '/{a:int}',
        '/{:a:b*{[0-9]+}\\:a',
        '%',
        ' ',
      ),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
    );
    const paths = fc.sample(
      fc.array(piece, { minLength: 1, maxLength: 40 }).map((pieces) => pieces.join('')),
      500,
    );
    const timestamp = new Date(Date.now() - 60 * SECOND).toISOString();
    const request = (members: object) =>
      JSON.stringify({ timestamp, method: 'GET', status_code: 200, ...members });
    const lines = paths.flatMap((path) => [
      request({ url: `https://a.example/${path}` }),
      request({ url: 'https://a.example/', path }),
    ]);
    await bring(tenant, lines);
    const exported = await logged(tenant);
    await bring(
      other,
      exported.map((log) => JSON.stringify(log)),
    );
    expect(exported.length).toBeGreaterThan(500);
    const byUuid = (logs: LogBody[]) => new Map(logs.map((log) => [log.request_uuid, log]));
    expect(byUuid(await logged(other))).toEqual(byUuid(exported));
    expect(exported.filter(({ path }) => path?.includes('[id]')).length).toBeGreaterThan(10);
  });

  it.each(['nginx.json', 'caddy.json', 'traefik.json', 'envoy.json', 'iis', 'cloudfront', 'alb'])(
    'imports the access log %s once, also when it is imported again',
    async (name) => {
      const tenant = await Tenant.create(app);
      const lines = readFileSync(`test/fixtures/access-logs/${name}.log`, 'utf8').trimEnd().split('\n');
      const shiftMs = Date.now() - Date.UTC(2026, 10, 21);
      const { imported, ...rest } = await bring(tenant, lines, { shiftMs });
      expect(imported).toBeGreaterThan(1);
      expect(await bring(tenant, lines, { shiftMs }, 1)).toEqual({
        ...rest,
        imported: 0,
        duplicates: imported,
        logged: 0,
      });
      const log = (await logged(tenant)).find(({ url }) => url.includes('/orders/42'))!;
      expect(log).toMatchObject({ path: '/orders/{id}', status_code: 200, response_time_ms: 215 });
      const { body } = await tenant.get(`request-logs/${log.request_uuid}`);
      expect(body.request_headers).toContainEqual(['user-agent', 'Mozilla/5.0 (X11; Linux x86_64)']);
    },
  );

  it('passes on rejected entries of W3C logs behind the line that names their fields', async () => {
    const tenant = await Tenant.create(app);
    const [fields, later] = ['#Fields: date time cs-method cs-uri-stem sc-status', '#Fields: date time'];
    const [date, time] = new Date(Date.now() - 60 * SECOND).toISOString().slice(0, 19).split('T');
    const valid = `${date} ${time} GET /w3c 200`;
    const rejected: string[] = [];
    await bring(tenant, ['#Version: 1.0', fields, 'a', valid, 'b', '#Remark: x', later, 'c'], {
      onRejected: ({ text }) => rejected.push(text!),
    });
    expect(rejected).toEqual([fields, 'a', 'b', later, 'c']);
    expect(await bring(tenant, [fields, valid])).toMatchObject({ imported: 0, duplicates: 1 });
  });

  it('leaves out what cannot be read, and counts it by name', async () => {
    const tenant = await Tenant.create(app);
    const timestamp = new Date(Date.now() - 60 * SECOND).toISOString();
    const required = { timestamp, method: 'GET', url: 'https://a.example/a', status_code: 999 };
    const lines = [
      { ...required, client_ip: '' },
      { ...required, client_ip: 'unknown', consumer: '', env: 'pre prod' },
      { ...required, response_size_bytes: -1, trace_id: 'A'.repeat(32) },
      { ...required, url: '', client_ip: '' },
      { ...required, timestamp: '2019-01-01', client_ip: '' },
    ];
    expect(
      await bring(
        tenant,
        lines.map((line) => JSON.stringify(line)),
      ),
    ).toEqual({
      read: 5,
      imported: 3,
      duplicates: 0,
      rejected: 2,
      logged: 3,
      ignored_members: { client_ip: 2, consumer: 1, env: 1, response_size_bytes: 1 },
    });
    const logs = await logged(tenant);
    expect(logs).toMatchObject([1, 2, 3].map(() => ({ status_code: 999, env: 'prod', consumer: null })));
  });
});

const counts = (read: number, imported: number, rejected = 0) => ({
  read,
  imported,
  duplicates: read - imported - rejected,
  rejected,
  logged: imported,
});

describeEmbedded('import, as a command', () => {
  const data = dataDirectory();
  const env = { ...data.env, LOG_LEVEL: 'silent' };
  const run = (...args: string[]) => runCommand(args, env);
  const runProcess = (...args: string[]) => ProductProcess.run(args, env);
  const files = mkdtempSync(join(tmpdir(), 'request-analytics-files-'));
  const createFile = (name: string, content: string | Buffer) => {
    writeFileSync(join(files, name), content);
    return join(files, name);
  };
  const readSummary = ({ out }: Ended) => JSON.parse(out.join('\n')) as ImportSummary;
  const readAudit = ({ err }: Ended) =>
    JSON.parse(err.find((line) => line.startsWith('{"level"'))!) as object;

  beforeAll(async () => {
    expect(await prepare(env, 0)).toMatchObject({ appId: 1 });
  });

  afterAll(() => {
    data.remove();
    rmSync(files, { recursive: true });
  });

  it('fails when it rejected every line, and groups the reasons', async () => {
    const old = Array.from({ length: 40 }, (_, index) => logLine(index).replace(/20\d\d:/, '2019:'));
    const text = ['root:x:0:0:root:/root:/bin/sh', ...old, 'daemon:x:1:1::/:/bin/false', ''].join('\n');
    const ended = await runProcess('import', createFile('passwd', text), '--app', '1');
    expect(ended.code).toBe(1);
    expect(readSummary(ended)).toEqual({ read: 42, imported: 0, duplicates: 0, rejected: 42, logged: 0 });
    expect(ended.err.filter((line) => !line.startsWith('{'))).toEqual([
      '40 lines rejected: timestamp: older than the 13 months for which traffic is kept (lines 2, 3, 4, 5, 6, …)',
      '2 lines rejected: line: must begin with host, identity, user, [time] and "request" (lines 1, 42)',
      'If this is an old sample, --shift-to now moves its times.',
      'error: nothing was imported: all lines were rejected (42)',
    ]);
    expect(readAudit(ended)).toMatchObject({ outcome: 'failed', error: 'NothingImportedError' });
  });

  it('rejects no line of what is no text, and says what it is', async () => {
    const file = createFile('access.log.xz', Buffer.from('fd377a585a000004e6d6b446', 'hex'));
    const ended = await run('import', file, '--app', '1');
    expect(ended.code).toBe(1);
    expect(readSummary(ended)).toMatchObject({ read: 0, rejected: 0 });
    expect(ended.err.at(-1)).toBe(
      `error: Cannot read ${file}: it is compressed with xz; decompress it first: xz -dc FILE | request-analytics import - …`,
    );
    expect(readAudit(ended)).toMatchObject({ outcome: 'failed', error: 'LineSourceError' });
  });

  it('completes URLs, reports what it left out, and explains why a file is nothing new', async () => {
    const timestamp = new Date(Date.now() - 60 * SECOND).toISOString();
    const line = { timestamp, method: 'GET', url: '/a', status_code: 200, client_ip: '' };
    const args = [
      'import',
      createFile('lines', JSON.stringify(line)),
      '--app',
      '1',
      '--base-url',
      'HTTPS://a.Example:443/',
    ];
    const first = await run(...args, '--source', 'web-1/access.log');
    expect([first.code, readSummary(first)]).toMatchObject([
      0,
      { imported: 1, ignored_members: { client_ip: 1 } },
    ]);
    expect(first.err).toContain('invalid optional members, left out of their requests: client_ip (1)');
    expect(readAudit(first)).toMatchObject({ outcome: 'ok', imported: 1 });
    const again = await run(...args, '--source', 'web-1/access.log');
    expect([again.code, readSummary(again)]).toMatchObject([0, { imported: 0, duplicates: 1 }]);
    expect(again.err.join(' ')).toContain('If several nodes log for one app, set --source for each');
    expect(readSummary(await run(...args))).toMatchObject({ imported: 1, duplicates: 0 });
  });

  const count = (ended: Ended) => JSON.parse(ended.out.at(-1)!) as ImportSummary & { files: object[] };

  it('imports a directory of rotated and compressed logs once, with figures for each file', async () => {
    const directory = join(files, 'rotated');
    mkdirSync(directory);
    const [old, middle, late] = [logLine(90, '/old'), logLine(60), logLine(30)];
    writeFileSync(join(directory, 'access.log'), `${late}\n${late}\n`);
    writeFileSync(join(directory, 'access.log.1'), `${middle}\nx\n`);
    const packed = READS_ZSTD && hasProgram('zstd') ? pack('zstd', old) : gzipSync(old);
    writeFileSync(join(directory, 'access.log.2.packed'), packed);
    writeFileSync(join(directory, 'access.log.3.gz'), gzipSync(old));
    writeFileSync(join(directory, 'error.log'), 'no such file\n');
    const args = ['import', directory, '--app', '1', '--source', 'rotated'];
    const first = await runProcess(...args);
    const name = (file: string) => join(directory, file);
    expect([first.code, count(first)]).toEqual([
      0,
      {
        read: 6,
        imported: 4,
        duplicates: 1,
        rejected: 1,
        logged: 4,
        format: 'combined',
        from: expect.any(String),
        to: expect.any(String),
        hosts: [],
        with_response_time: 5,
        not_logged: {},
        files: [
          { file: name('access.log.2.packed'), format: 'combined', ...counts(1, 1) },
          { file: name('access.log.3.gz'), format: 'combined', ...counts(1, 0) },
          { file: name('access.log.1'), format: 'combined', ...counts(2, 1, 1) },
          { file: name('access.log'), format: 'combined', ...counts(2, 2) },
          { file: name('error.log'), format: null, problem: expect.stringContaining('left out') },
        ],
      },
    ]);
    expect(first.err).toContainEqual(
      expect.stringMatching(/^1 line rejected: line: .* \(line 2 of .*\.1\)$/),
    );
    expect(count(await run(...args))).toMatchObject({ read: 6, imported: 0, duplicates: 5, rejected: 1 });
  });

  it('leaves out a half-written last line until it has its end, so that it counts once', async () => {
    const half = `203.0.113.7 - - [${ago(50)}] "GET /half HTTP/1.1" 200 12`;
    const log = createFile('growing.log', `${logLine(51, '/growing')}\n${half}`);
    const args = ['import', log, '--app', '1'];
    const first = await run(...args);
    expect([first.code, count(first)]).toMatchObject([0, { read: 1, imported: 1, rejected: 0 }]);
    expect(first.err).toContainEqual(
      expect.stringMatching(`^${log}: the last line was left out, because it has no line end`),
    );
    writeFileSync(log, '3456\n', { flag: 'a' });
    const grown = await run(...args);
    expect([grown.code, count(grown)]).toMatchObject([0, { read: 2, imported: 1, duplicates: 1 }]);
    expect(grown.err.join()).not.toContain('left out');
  });

  it('joins a line that a rotation divided between two files, and only such a line', async () => {
    const whole = logLine(48, '/divided');
    const at = whole.indexOf('HTTP');
    const older = createFile('divided.log.1', `${logLine(49, '/before')}\n${whole.slice(0, at)}`);
    const newer = createFile('divided.log', `${whole.slice(at)}\n${logLine(47, '/after')}\n`);
    const joined = await run('import', newer, older, '--app', '1');
    expect([joined.code, count(joined)]).toMatchObject([0, { read: 3, imported: 3, rejected: 0 }]);
    expect(joined.err.join()).not.toContain('left out');
    const entire = createFile('entire.log', `${whole}\n`);
    expect(count(await run('import', entire, '--app', '1'))).toMatchObject({ imported: 0, duplicates: 1 });
    const next = createFile('next.log', `${logLine(46, '/next')}\n`);
    const apart = await run('import', older, next, '--app', '1');
    expect(count(apart)).toMatchObject({ read: 2, imported: 1, duplicates: 1, rejected: 0 });
    expect(apart.err).toContainEqual(
      expect.stringMatching(`^${older}: the last line was left out, because it has no line end`),
    );
    const second = await run('import', newer, '--app', '1');
    expect(count(second)).toMatchObject({ read: 2, imported: 0, duplicates: 1, rejected: 1 });
    const mayBeRest =
      'the first line may be the rest of a line that a rotation divided: import the file before it';
    expect(second.err.join()).toMatch(new RegExp(`1 line rejected: .+ \\(line 1\\); ${mayBeRest}`));
    // Of one of several files, and not where no line is a request or another line is rejected.
    const twoFiles = await run('import', newer, next, '--app', '1');
    expect(twoFiles.err.join()).toMatch(new RegExp(`\\(line 1 of ${newer}\\); ${mayBeRest}`));
    const broken = createFile('broken.log', `${logLine(45)}\nno request\n${logLine(44)}\n`);
    const noRequest = createFile('no-request.log', 'no request\n');
    for (const file of [broken, noRequest]) {
      const { err } = await run('import', file, '--app', '1');
      expect([file, err.join().includes('1 line rejected'), err.join().includes(mayBeRest)]).toEqual([
        file,
        true,
        false,
      ]);
    }
  });

  it('joins a line of JSON that a rotation divided, and takes a whole one without its end', async () => {
    const [before, whole, last] = [35, 34, 33].map((minutes) =>
      JSON.stringify({
        timestamp: new Date(Date.now() - minutes * 60_000).toISOString(),
        method: 'GET',
        url: 'https://x.test/divided',
        status_code: 200,
      }),
    ) as [string, string, string];
    const at = whole.indexOf('url');
    const older = createFile('divided.json.1', `${before}\n${whole.slice(0, at)}`);
    const newer = createFile('divided.json', `${whole.slice(at)}\n${last}`);
    const joined = await run('import', newer, older, '--app', '1');
    expect([joined.code, count(joined)]).toMatchObject([0, { read: 3, imported: 3, rejected: 0 }]);
    expect(joined.err.join()).not.toContain('left out');
  });

  it.each([[[]], [['--shift-to', 'now']]])(
    'takes the last line of standard input without its end, with %j',
    (options) => {
      const out = execFileSync(
        process.execPath,
        ['dist/cli.cjs', 'import', '-', '--app', '1', '--source', `whole${options.length}`, ...options],
        { env: data.env, input: `${logLine(41)}\n${logLine(40)}`, stdio: ['pipe', 'pipe', 'ignore'] },
      );
      expect(JSON.parse(out.toString())).toMatchObject({ read: 2, imported: 2 });
    },
  );

  it('imports what it can of several files, names those that it cannot read, and fails', async () => {
    const [good, missing] = [createFile('good.log', `${logLine(20, '/good')}\n`), join(files, 'missing.log')];
    const cut = createFile('cut.log.gz', gzipSync(`${logLine(21, '/cut')}\n`.repeat(3)).subarray(0, -8));
    const ended = await runProcess('import', missing, good, cut, '--app', '1');
    expect([ended.code, count(ended)]).toMatchObject([1, { imported: 4, rejected: 0 }]);
    expect(ended.err.filter((line) => !line.startsWith('{'))).toEqual([
      `Cannot read ${cut} to its end: the gzip data is cut off`,
      `Cannot read ${missing}: there is no such file`,
      'error: 2 of 3 files could not be read to their end',
    ]);
    const again = await run('import', missing, good, cut, '--app', '1');
    expect([again.code, count(again)]).toMatchObject([1, { imported: 0, duplicates: 4 }]);
    // What the files have beyond what was read may not be.
    expect(again.err.join()).not.toContain('All requests were in the store already');
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'stops at %s after what it has read, and goes on when it is run again',
    async (signal, code) => {
      const lines = Array.from({ length: 20_000 }, (_, index) => `${logLine(60, `/${signal}/${index}`)}\n`);
      const pipe = join(files, `${signal}.pipe`);
      execFileSync('mkfifo', [pipe]);
      const stopped = await ProductProcess.begin(['import', pipe, '--app', '1'], env);
      const failed = stopped.ended.then(() => Promise.reject(new Error(stopped.written)));
      failed.catch(() => undefined);
      const writer = await Promise.race([open(pipe, 'w'), failed]);
      await Promise.race([writer.write(lines.slice(0, 8_000).join('')), failed]);
      stopped.signal(signal);
      // The import is in the middle of its lines; the pipe breaks when it ends.
      await writer.write(lines.slice(8_000).join('')).catch(() => undefined);
      expect(await stopped.ended).toEqual([code, null]);
      await writer.close();
      const { read, imported, rejected } = JSON.parse(stopped.out.at(-1)!) as ImportSummary;
      expect([read, rejected]).toEqual([imported, 0]);
      expect(imported).toBeGreaterThan(6_000);
      expect(imported).toBeLessThan(20_000);
      expect(stopped.err.at(-1)).toBe(
        `stopped by ${signal} at line ${imported.toLocaleString('en')} of ${pipe}. What was read is stored; the same command adds the rest.`,
      );
      const again = await run('import', createFile(`${signal}.log`, lines.join('')), '--app', '1');
      expect([again.code, count(again)]).toMatchObject([
        0,
        { read: 20_000, imported: 20_000 - imported, duplicates: imported },
      ]);
    },
  );

  it('does not read a pipe twice to move its times', async () => {
    const pipe = join(files, 'moved.pipe');
    execFileSync('mkfifo', [pipe]);
    const script = 'cat "$1" > "$0"; cat /dev/null > "$0"';
    const writer = spawn('sh', ['-c', script, pipe, createFile('moved.log', logLine(90))]);
    try {
      const { code, err } = await run('import', pipe, '--app', '1', '--shift-to', 'now');
      expect([code, err.at(-1)]).toEqual([
        1,
        `error: --shift-to reads a file twice, and ${pipe} can be read once: write it to standard input (-)`,
      ]);
    } finally {
      writer.kill();
    }
  });

  it('does not take standard input together with files', async () => {
    const { code, err } = await run('import', '-', createFile('any.log', logLine(1)), '--app', '1');
    expect([code, err.at(-1)]).toEqual([
      1,
      'error: Standard input (-) cannot be imported together with files',
    ]);
  });
});
