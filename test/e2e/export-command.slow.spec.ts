import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAdmin } from '../../src/admin/admin.js';
import { Config } from '../../src/config/config.js';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/ingestion/capture.js';
import { RequestsWriter } from '../../src/ingestion/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { dataDirectory } from '../setup/data-directory.js';
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
    await store.close();
  });

  afterAll(() => {
    rmSync(directory, { recursive: true });
    data.remove();
  });

  const run = (args: readonly string[], env = data.env) =>
    ProductProcess.run(['export', '--app', app, ...args], env);

  it('writes NDJSON that import takes, and that comes out of there byte for byte', async () => {
    const first = at('first.ndjson');
    const { code, out } = await run(['--output', first]);
    expect([code, JSON.parse(out[0]!)]).toEqual([0, { rows: ROWS, file: first }]);
    // It has headers and bodies.
    expect((statSync(first).mode & 0o777).toString(8)).toBe('600');

    const copy = dataDirectory();
    const team = await ProductProcess.run(
      ['team', 'create', '--name', 'Copy', '--plan', 'premium'],
      copy.env,
    );
    const { id } = JSON.parse(team.out[0]!) as { id: number };
    await ProductProcess.run(
      ['app', 'create', '--team', String(id), '--name', 'Copy', '--framework', 'express'],
      copy.env,
    );
    const imported = await ProductProcess.run(['import', first, '--app', '1'], copy.env);
    expect(JSON.parse(imported.out[0]!)).toMatchObject({
      read: ROWS,
      imported: ROWS,
      rejected: 0,
      logged: ROWS,
    });
    await ProductProcess.run(['export', '--app', '1', '--output', at('second.ndjson')], copy.env);
    expect(readFileSync(at('second.ndjson')).equals(readFileSync(first))).toBe(true);
    // An unknown time is no time of 0.
    const unknown = readFileSync(first, 'utf8').match(/"response_time_ms":null/g);
    expect(unknown).toHaveLength(Math.ceil(ROWS / 6));
    copy.remove();
  });

  it.each(['ndjson', 'csv'])('continues a file that broke off anywhere, as %s', async (format) => {
    const whole = at(`whole.${format}`);
    const until = ['--until', new Date(Date.now() - 60_000).toISOString()];
    expect((await run(['--format', format, ...until, '--output', whole])).code).toBe(0);
    const bytes = readFileSync(whole);
    const { size } = statSync(whole);
    for (const cut of [0, 10, Math.floor(size * 0.37), size - 1]) {
      const part = at(`part.${format}`);
      writeFileSync(part, bytes.subarray(0, cut));
      const { code } = await run(['--format', format, ...until, '--resume', part]);
      expect([cut, code, readFileSync(part).equals(bytes)]).toEqual([cut, 0, true]);
    }
  });

  it.each([
    ['ndjson', [], ['--fields', 'status_code']],
    ['ndjson', ['--fields', 'status_code'], []],
    ['ndjson', ['--fields', 'status_code,path'], ['--fields', 'status_code']],
    ['csv', [], ['--fields', 'status_code']],
    ['csv', ['--fields', 'status_code'], ['--fields', 'path']],
  ])('does not continue %s %j with %j', async (format, before, after) => {
    const part = at(`fields.${format}`);
    expect((await run(['--format', format, ...before, '--output', part])).code).toBe(0);
    const bytes = readFileSync(part);
    const cut = bytes.subarray(0, bytes.length / 2);
    writeFileSync(part, cut);
    const { code, err } = await run(['--format', format, ...after, '--resume', part]);
    expect([code, err.at(-1)]).toEqual([
      1,
      `error: ${part} has other fields: it can be continued with the same --fields alone`,
    ]);
    expect(readFileSync(part).equals(cut)).toBe(true);
    expect((await run(['--format', format, ...before, '--resume', part])).code).toBe(0);
  });

  it('says how a file is continued that could not be written to its end', async () => {
    // The command has the limit of file sizes, but not the engine.
    const service = await ProductProcess.start(['serve'], data.env);
    const part = at('limited.ndjson');
    const env = { PATH: process.env.PATH, ...data.env };
    // With the second limit nothing can be added.
    for (const [blocks, option] of [
      [64, '--output'],
      [1, '--resume'],
    ] as const) {
      const limited = [
        '-c',
        `ulimit -f ${blocks}; exec "$0" "$@"`,
        process.execPath,
        'dist/cli.js',
        'export',
      ];
      await expect(
        promisify(execFile)('sh', [...limited, '--app', app, option, part], { env }),
      ).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^the export broke off; --resume \S+limited\.ndjson continues it\n([^]*\n)?error: EFBIG/m,
        ) as string,
      });
    }
    const { code, out } = await run(['--resume', part]);
    expect([code, JSON.parse(out[0]!)]).toEqual([0, { rows: expect.any(Number) as number, file: part }]);
    expect(readFileSync(part).toString().split('\n')).toHaveLength(ROWS + 1);
    await service.stop();
    const missing = await run(['--output', at('no/such/directory')]);
    expect(missing.code).toBe(1);
    expect(missing.err.join()).not.toContain('--resume');
  });

  it('writes the other formats, and only what filters choose', async () => {
    const file = at('errors.parquet');
    await run(['--format', 'parquet', '--filter', 'status_code in 500,503', '--output', file]);
    const rows = await queryParquet(readFileSync(file), ['SELECT count(), min(status_code) FROM rows']);
    expect(rows).toEqual([[String(ROWS / 10), 500]]);
    const { out } = await run(['--filter', 'request_headers[x-tag] contains SS', '--filter', 'path is_null']);
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
    const ofCsv = `timestamp,request_uuid\r\n"2026-11-20T00:00:00.000Z","0190b7a1-5d4e-7c3a-9f10-2b6f8e4c1d22"\r\n`;
    for (const content of ['{"timestamp":"now"}\n', ofCsv]) {
      writeFileSync(at('other'), content);
      expect(await refused('--resume', at('other'))).toEqual([
        1,
        `error: ${at('other')} is no export as ndjson: it cannot be continued`,
      ]);
      expect(readFileSync(at('other'), 'utf8')).toBe(content);
    }
  });
});
