import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { Config } from '../../src/config/config.js';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { runCommand } from '../setup/command.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
import { queryParquet } from '../setup/duckdb.js';
import { ProductProcess } from '../setup/product-process.js';
import { openMigrated } from '../setup/schema.js';
import { describeEmbedded } from '../setup/store.js';

const ROWS = 2_500;

describeEmbedded('request-analytics export', () => {
  const data = dataDirectory();
  const directory = mkdtempSync(join(tmpdir(), 'export-'));
  const at = (name: string) => join(directory, name);
  let app = '';
  let otherApp = '';

  beforeAll(async () => {
    const store = await openMigrated(new Config(data.env));
    const admin = createAdmin(store);
    const { id: teamId } = await admin.teams.create('Acme', 'premium');
    app = String((await admin.apps.create(teamId, 'Shop', 'express')).id);
    const start = Date.now() - 3_600_000;
    const records = Array.from({ length: ROWS }, (_, index) =>
      buildRequest({
        timestamp: start + Math.floor(index / 2),
        status_code: index % 10 === 0 ? 500 : 200,
        response_time_ms: index % 6 === 0 ? null : index,
        consumer: index % 3 === 0 ? { identifier: `anna ${index % 7}` } : null,
        path: index % 4 === 0 ? null : '/users/{id}',
        url: `https://x/${index}"\r\n"2026-`,
        captured_json:
          index % 5 === 0
            ? toCaptureJson({
                ...EMPTY_CAPTURE,
                request_headers: [['X-Tag', 'ß "x"']],
                response_body_json: '{"n":1.0}\r\n',
                trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
                exception: { type: 'E', message: 'm', stacktrace: 's', tracker_event_id: null },
                logs: [
                  {
                    timestamp: '2026-01-02T03:04:05.123456Z',
                    message: 'm',
                    level: 'INFO',
                    logger: null,
                    file: null,
                    line: 7,
                  },
                ],
              })
            : '',
      }),
    );
    await RequestsWriter.create(store).write(Number(app), records);
    // Another team's, with the same times.
    const { id: otherTeam } = await admin.teams.create('Beta', 'premium');
    otherApp = String((await admin.apps.create(otherTeam, 'Other', 'express')).id);
    const others = records.map((record) => ({
      ...record,
      request_uuid: randomUUID(),
      url: 'https://other/',
    }));
    await RequestsWriter.create(store).write(Number(otherApp), others);
    await store.close();
  });

  afterAll(() => {
    rmSync(directory, { recursive: true });
    data.remove();
  });

  const run = (args: readonly string[]) => runCommand(['export', '--app', app, ...args], data.env);
  const runProcess = (args: readonly string[]) =>
    ProductProcess.run(['export', '--app', app, ...args], data.env);

  /**
   * Exports to a file that may have `blocks` blocks of 512 bytes: the command has this limit, but the engine
   * of a service does not.
   */
  const runLimited = (blocks: number, args: readonly string[]) =>
    promisify(execFile)(
      'sh',
      [
        '-c',
        `ulimit -f ${blocks}; exec "$0" "$@"`,
        process.execPath,
        'dist/cli.cjs',
        'export',
        '--app',
        app,
        ...args,
      ],
      { env: { PATH: process.env.PATH, ...data.env } },
    );

  /** A file that broke off, and what is beside it; a service runs. */
  const breakOff = async (name: string, args: readonly string[]) => {
    const part = at(name);
    await expect(runLimited(64, [...args, '--output', part])).rejects.toMatchObject({ code: 1 });
    return { part, bytes: readFileSync(part), note: readFileSync(`${part}.resume`) };
  };

  it('writes NDJSON that import takes, and that comes out of there byte for byte', async () => {
    const first = at('first.ndjson');
    const { code, out } = await runProcess(['--output', first]);
    expect([code, JSON.parse(out[0]!)]).toEqual([0, { rows: ROWS, file: first }]);
    // It has headers and bodies.
    expect((statSync(first).mode & 0o777).toString(8)).toBe('600');

    const copy = dataDirectory();
    expect(await prepare(copy.env, 0)).toMatchObject({ appId: 1 });
    const imported = await ProductProcess.run(['import', first, '--app', '1'], copy.env);
    expect(JSON.parse(imported.out[0]!)).toMatchObject({
      read: ROWS,
      imported: ROWS,
      rejected: 0,
      logged: ROWS,
    });
    await runCommand(['export', '--app', '1', '--output', at('second.ndjson')], copy.env);
    expect(readFileSync(at('second.ndjson')).equals(readFileSync(first))).toBe(true);
    // An unknown time is no time of 0.
    const unknown = readFileSync(first, 'utf8').match(/"response_time_ms":null/g);
    expect(unknown).toHaveLength(Math.ceil(ROWS / 6));
    copy.remove();
  });

  describe('of a file that broke off', () => {
    let service: ProductProcess;

    beforeAll(async () => {
      service = await ProductProcess.start(['serve'], data.env);
    });

    afterAll(() => service.stop());

    const resume = (args: readonly string[]) => runCommand(['export', ...args], data.env);

    it.each(['ndjson', 'csv', 'csv_spreadsheet', 'har'])(
      'continues a file that broke off anywhere, as %s',
      async (format) => {
        const whole = at(`whole.${format}`);
        const until = ['--until', new Date(Date.now() - 60_000).toISOString()];
        expect((await run(['--format', format, ...until, '--output', whole])).code).toBe(0);
        expect(existsSync(`${whole}.resume`)).toBe(false);
        const bytes = readFileSync(whole);
        const { part, note } = await breakOff(`part.${format}`, ['--format', format, ...until]);
        expect((statSync(`${part}.resume`).mode & 0o777).toString(8)).toBe('600');
        for (const cut of [0, 10, Math.floor(bytes.length * 0.37), bytes.length - 1]) {
          writeFileSync(part, bytes.subarray(0, cut));
          writeFileSync(`${part}.resume`, note);
          const { code } = await run(['--format', format, ...until, '--resume', part]);
          expect([cut, code, readFileSync(part).equals(bytes), existsSync(`${part}.resume`)]).toEqual([
            cut,
            0,
            true,
            false,
          ]);
        }
      },
    );

    it('continues it with the same options alone, and otherwise leaves it as it is', async () => {
      const options = {
        '--app': app,
        '--fields': 'status_code',
        '--filter': 'status_code eq 200',
        '--since': new Date(Date.now() - 7_200_000).toISOString(),
        '--format': 'ndjson',
      };
      const asked = Object.entries(options).flat();
      const { part, bytes, note } = await breakOff('asked.ndjson', asked.slice(2));
      for (const other of [
        { '--app': otherApp },
        { '--app': '99' },
        { '--fields': 'status_code,path' },
        { '--fields': undefined },
        { '--filter': 'status_code eq 500' },
        { '--since': '2026-01-01' },
        { '--until': '2036-01-01' },
        { '--format': 'csv' },
      ]) {
        const [option = ''] = Object.keys(other);
        const given = Object.entries<string | undefined>({ ...options, ...other }).flatMap(([name, value]) =>
          value === undefined ? [] : [name, value],
        );
        const { code, err } = await resume([...given, '--resume', part]);
        expect([code, err.at(-1)]).toEqual([
          1,
          `error: ${part} was begun with another ${option}: it can be continued with the same options alone`,
        ]);
        expect(readFileSync(part).equals(bytes)).toBe(true);
        expect(readFileSync(`${part}.resume`).equals(note)).toBe(true);
      }
      expect((await resume([...asked, '--resume', part])).code).toBe(0);
    });

    it('continues it not with an app that was deleted, and leaves it as it is', async () => {
      const { part, bytes, note } = await breakOff('deleted.ndjson', []);
      writeFileSync(`${part}.resume`, note.toString().replace(`"app":${app},`, '"app":99,'));
      const { code, err } = await resume(['--app', '99', '--resume', part]);
      expect([code, err.at(-1)]).toEqual([1, 'error: There is no app 99']);
      expect(readFileSync(part).equals(bytes)).toBe(true);
    });

    it('continues it not if the file is replaced by one of another app', async () => {
      const { part } = await breakOff('replaced.ndjson', []);
      await resume(['--app', otherApp, '--output', at('other.ndjson')]);
      const others = readFileSync(at('other.ndjson')).subarray(0, 20_000);
      writeFileSync(part, others);
      const { code, err } = await run(['--resume', part]);
      expect([code, err.at(-1)]).toEqual([
        1,
        expect.stringMatching(/^error: The last request in the file, \S+, is none of this export/),
      ]);
      expect(readFileSync(part).equals(others)).toBe(true);
    });

    it('continues it not without the file beside it', async () => {
      const { part, bytes } = await breakOff('alone.ndjson', []);
      for (const damage of [
        () => {
          writeFileSync(`${part}.resume`, '{"app":1,');
        },
        () => {
          rmSync(`${part}.resume`);
        },
      ]) {
        damage();
        const { code, err } = await run(['--resume', part]);
        expect([code, err.at(-1)]).toEqual([
          1,
          `error: ${part}.resume is missing or cut, which says what ${part} is an export of: it cannot be continued`,
        ]);
        expect(readFileSync(part).equals(bytes)).toBe(true);
      }
    });

    it('ends it where it would have ended, without later requests', async () => {
      const whole = at('window.ndjson');
      const { part } = await breakOff('window-part.ndjson', []);
      expect((await run(['--output', whole])).code).toBe(0);
      const line = readFileSync(whole, 'utf8').split('\n', 1)[0]!;
      const late = JSON.parse(line) as object;
      // Of the first two rows, either may be the first; one is an error.
      const row = {
        ...late,
        status_code: 200,
        timestamp: new Date().toISOString(),
        request_uuid: randomUUID(),
      };
      writeFileSync(at('late.ndjson'), `${JSON.stringify(row)}\n`);
      expect((await runCommand(['import', at('late.ndjson'), '--app', app], data.env)).code).toBe(0);
      expect((await run(['--resume', part])).code).toBe(0);
      expect(readFileSync(part).equals(readFileSync(whole))).toBe(true);
    });

    it('says how it is continued', async () => {
      const part = at('limited.ndjson');
      // With the second limit nothing can be added.
      for (const [blocks, option] of [
        [64, '--output'],
        [1, '--resume'],
      ] as const)
        await expect(runLimited(blocks, [option, part])).rejects.toMatchObject({
          code: 1,
          stderr: expect.stringMatching(
            /^the export broke off; --resume \S+limited\.ndjson continues it\n([^]*\n)?error: EFBIG/m,
          ) as string,
        });
      const { code, out } = await run(['--resume', part]);
      expect([code, JSON.parse(out[0]!)]).toEqual([0, { rows: expect.any(Number) as number, file: part }]);
      const missing = await run(['--output', at('no/such/directory')]);
      expect(missing.code).toBe(1);
      expect(missing.err.join()).not.toContain('--resume');
    });
  });

  it('writes to what is no file, with nothing beside it', async () => {
    const { code, err } = await run(['--output', '/dev/null']);
    expect([code, err.filter((line) => line.startsWith('error'))]).toEqual([0, []]);
    expect(existsSync('/dev/null.resume')).toBe(false);
  });

  it('writes the other formats, and only what filters choose', async () => {
    const file = at('errors.parquet');
    await run(['--format', 'parquet', '--filter', 'status_code in 500,503', '--output', file]);
    const rows = await queryParquet(readFileSync(file), ['SELECT count(), min(status_code) FROM rows']);
    expect(rows).toEqual([[String(ROWS / 10), 500]]);
    const { out } = await runProcess([
      '--filter',
      'request_headers[x-tag] contains SS',
      '--filter',
      'path is_null',
    ]);
    expect(out).toEqual([]);
  });

  it('refuses what it cannot do, in one line', async () => {
    const refused = async (...args: string[]) => {
      const { code, err } = await run(args);
      return [code, err.find((line) => line.startsWith('error'))];
    };
    expect(await refused('--filter', 'status_code like 5')).toEqual([
      1,
      expect.stringContaining("operator 'like' is not supported for field 'status_code'"),
    ]);
    expect(await refused('--since', '2026-11-24', '--until', '2026-11-20')).toEqual([
      1,
      'error: --since must be before --until, or before now',
    ]);
    expect(await refused('--since', new Date(Date.now() + 60_000).toISOString())).toEqual([
      1,
      'error: --since must be before --until, or before now',
    ]);
    writeFileSync(at('x.parquet'), '');
    expect(await refused('--format', 'parquet', '--resume', at('x.parquet'))).toEqual([
      1,
      'error: A broken file of parquet cannot be continued: export it again',
    ]);
    const service = await ProductProcess.start(['serve'], data.env);
    const { part, note } = await breakOff('note.ndjson', []);
    await service.stop();
    const ofCsv = `timestamp,request_uuid\r\n"2026-11-20T00:00:00.000Z","0190b7a1-5d4e-7c3a-9f10-2b6f8e4c1d22"\r\n`;
    for (const content of ['{"timestamp":"now"}\n', ofCsv]) {
      writeFileSync(at('other'), content);
      writeFileSync(`${at('other')}.resume`, note);
      expect(await refused('--resume', at('other'))).toEqual([
        1,
        `error: ${at('other')} is no export as ndjson: it cannot be continued`,
      ]);
      expect(readFileSync(at('other'), 'utf8')).toBe(content);
    }
    // The command opens the directory itself.
    expect((await run(['--resume', part])).code).toBe(0);
    expect(existsSync(`${part}.resume`)).toBe(false);
    const whole = at('whole-alone.ndjson');
    expect((await run(['--output', whole])).code).toBe(0);
    expect(readFileSync(part).equals(readFileSync(whole))).toBe(true);
  });
});
