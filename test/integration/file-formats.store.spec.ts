import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinaryFrame } from '../../src/store/client/binary-frame.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import type { FileFormat } from '../../src/shared/file-format.js';
import { type TestStore, createTestStore } from '../setup/app.js';
import { readArrow } from '../setup/arrow.js';
import { readParquet } from '../setup/duckdb.js';

const COLUMNS = ['at', 'n', 'big', 'ratio', 'text', 'kind'] as const;
const SELECT = (rows: string) => `
SELECT toDateTime64(number, 3, 'UTC') AS at, toInt32(number) AS n, toInt64(9007199254740993 + number) AS big,
  number / 8 AS ratio, if(number % 2, NULL, concat('a"b,\\r\\n', char(number % 26 + 97))) AS text,
  CAST('é', 'LowCardinality(String)') AS kind
FROM numbers(${rows}) ORDER BY number`;

describe('rows as one file', () => {
  let testStore: TestStore;
  let store: ClickHouse;
  beforeAll(async () => {
    testStore = await createTestStore();
    store = await ClickHouse.open(testStore.config);
  });
  afterAll(async () => {
    await store.close();
    await testStore.remove();
  });

  const file = (format: FileFormat, rows = 3) =>
    store.file('test.file', { format, columns: COLUMNS, sql: SELECT('{rows:UInt32}') }, { rows });

  it('returns a line of JSON for each row as ndjson', async () => {
    expect((await file('ndjson', 2)).toString()).toBe(
      '{"at":"1970-01-01T00:00:00.000Z","n":0,"big":9007199254740993,"ratio":0,"text":"a\\"b,\\r\\na","kind":"é"}\n' +
        '{"at":"1970-01-01T00:00:01.000Z","n":1,"big":9007199254740994,"ratio":0.125,"text":null,"kind":"é"}\n',
    );
  });

  it('returns a header and lines as RFC 4180 has them as csv', async () => {
    expect((await file('csv', 2)).toString()).toBe(
      'at,n,big,ratio,text,kind\r\n' +
        '"1970-01-01T00:00:00.000Z",0,9007199254740993,0,"a""b,\r\na","é"\r\n' +
        '"1970-01-01T00:00:01.000Z",1,9007199254740994,0.125,,"é"\r\n',
    );
  });

  it('returns the same with an apostrophe before what a spreadsheet takes for a formula as csv_spreadsheet', async () => {
    expect((await file('csv_spreadsheet', 2)).toString()).toBe((await file('csv', 2)).toString());
    const texts = [
      '=1+1',
      '+1',
      '-1',
      '@SUM(A1)',
      '\t=1',
      '\r=1',
      '\n=1',
      ' =1',
      '"=1"',
      'a,"=1",',
      ',"=1',
      '',
      "'=1",
      ',"\r\n',
    ];
    const rows = await store.file(
      'test.file',
      {
        format: 'csv_spreadsheet',
        columns: ['nth', 'text', 'again', 'none'],
        sql: `SELECT '1' AS nth, arrayJoin({texts:Array(String)}) AS text, text AS again, -1 AS none`,
      },
      { texts },
    );
    const quoted = (text: string) =>
      `"${/^[=+\-@\t\r\n]/.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`;
    expect(rows.toString()).toBe(
      ['nth,text,again,none', ...texts.map((text) => `"1",${quoted(text)},${quoted(text)},-1`), ''].join(
        '\r\n',
      ),
    );
  });

  it('returns typed columns as arrow', async () => {
    const { fields, rows } = readArrow(await file('arrow'));
    expect(fields).toEqual([
      'at Timestamp<MILLISECOND, UTC> not null',
      'n Int32 not null',
      'big Int64 not null',
      'ratio Float64 not null',
      'text Utf8',
      'kind Utf8 not null',
    ]);
    expect(rows).toEqual([
      [0, 0, 9007199254740993n, 0, 'a"b,\r\na', 'é'],
      [1000, 1, 9007199254740994n, 0.125, null, 'é'],
      [2000, 2, 9007199254740995n, 0.25, 'a"b,\r\nc', 'é'],
    ]);
  });

  it('returns typed columns as parquet', async () => {
    const { columns, rows } = await readParquet(await file('parquet'));
    expect(columns).toEqual([
      'at TIMESTAMP WITH TIME ZONE',
      'n INTEGER',
      'big BIGINT',
      'ratio DOUBLE',
      'text VARCHAR',
      'kind VARCHAR',
    ]);
    expect(rows.map((row) => row.slice(1))).toEqual([
      [0, '9007199254740993', 0, 'a"b,\r\na', 'é'],
      [1, '9007199254740994', 0.125, null, 'é'],
      [2, '9007199254740995', 0.25, 'a"b,\r\nc', 'é'],
    ]);
  });

  it('returns no rows as a file that has none', async () => {
    expect((await file('ndjson', 0)).toString()).toBe('');
    for (const format of ['csv', 'csv_spreadsheet'] as const)
      expect((await file(format, 0)).toString()).toBe('at,n,big,ratio,text,kind\r\n');
    const arrow = readArrow(await file('arrow', 0));
    expect([arrow.fields.length, arrow.rows]).toEqual([6, []]);
    const parquet = await readParquet(await file('parquet', 0));
    expect([parquet.columns.length, parquet.rows]).toEqual([6, []]);
  });

  it.each(['arrow', 'parquet'] as const)('returns all of many rows as %s, in their order', async (format) => {
    const rows = 100_000;
    const bytes = await file(format, rows);
    const { rows: read } = format === 'arrow' ? readArrow(bytes) : await readParquet(bytes);
    expect(read.map((row) => row[1])).toEqual(Array.from({ length: rows }, (_, n) => n));
  });
});

describe.each(['arrow', 'parquet'] as const)('the frame of %s', (format) => {
  const directory = mkdtempSync(join(tmpdir(), 'binary-frame-'));
  let store: ClickHouse;
  beforeAll(async () => {
    store = await ClickHouse.open((await createTestStore({ DATA_DIR: directory })).config);
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** What the engine writes of a query, before the frame is looked at; and a frame like that of the query. */
  const raw = async (rows: number) => {
    let seen: { frame: BinaryFrame; bytes: Buffer } | undefined;
    const unwrap = jest.spyOn(BinaryFrame.prototype, 'unwrap').mockImplementation(function (
      this: BinaryFrame,
      bytes: Buffer,
    ) {
      seen = { frame: this, bytes: Buffer.from(bytes) };
      return bytes;
    });
    const query = { format, columns: COLUMNS, sql: SELECT(String(rows)) };
    await store.file('test.file', query).finally(() => {
      unwrap.mockRestore();
    });
    return seen!;
  };

  it.each([0, 3])('returns a result of %d rows without the nonce in a name', async (rows) => {
    const { frame, bytes } = await raw(rows);
    expect(bytes.includes(frame.taggedName)).toBe(true);
    const file = frame.unwrap(Buffer.from(bytes))!;
    expect(file.includes(frame.taggedName)).toBe(false);
    const names =
      format === 'arrow'
        ? readArrow(file).fields.map((field) => field.split(' ')[0])
        : (await readParquet(file)).columns.map((column) => column.split(' ')[0]);
    expect(names).toEqual(COLUMNS);
  });

  it('does not return a result that was cut anywhere', async () => {
    const { frame, bytes } = await raw(3);
    for (let end = 0; end < bytes.length; end++)
      expect(frame.unwrap(Buffer.from(bytes.subarray(0, end)))).toBeUndefined();
    for (let start = 1; start < bytes.length; start++)
      expect(frame.unwrap(Buffer.from(bytes.subarray(start)))).toBeUndefined();
  });

  it('does not return the result of another query, nor its own behind or before that of another', async () => {
    const [result, other] = [await raw(3), await raw(5)];
    const parts = [
      other.bytes,
      other.bytes.subarray(0, other.bytes.length - 8),
      Buffer.from('PAR1'),
      Buffer.alloc(8),
    ];
    for (const foreign of parts)
      for (const joined of [[foreign], [foreign, result.bytes], [result.bytes, foreign]])
        expect(result.frame.unwrap(Buffer.concat(joined))).toBeUndefined();
    expect(result.frame.unwrap(Buffer.from(result.bytes))).toBeDefined();
  });

  it('does not return an error of a server behind its rows, a page of a proxy, or nothing', async () => {
    const { frame, bytes } = await raw(3);
    const error = Buffer.from('Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n');
    for (const result of [
      Buffer.concat([bytes, error]),
      error,
      Buffer.from('<html></html>'),
      Buffer.alloc(0),
    ])
      expect(frame.unwrap(result)).toBeUndefined();
  });
});
