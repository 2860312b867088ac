import { randomUUID } from 'node:crypto';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { EXPORT_FILTERS, type ExportField } from '../../src/api/request-logs/export/export.input.js';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp } from '../setup/app.js';
import { postFor } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';

/** How many filters are tried for each field and operator; more in a nightly run. */
const RUNS = Number(process.env.EXPORT_FILTER_RUNS ?? 1);
const ROWS = 300;
const DAY = 86_400_000;
const FIELDS = Object.keys(EXPORT_FILTERS) as ExportField[];

/** Texts that patterns, quotes, escapes and case can go wrong with. */
const TEXTS = [
  '',
  'a',
  'A',
  'ab',
  '100%',
  '100x',
  'a_b',
  'axb',
  '\\',
  'a\\b',
  "it's",
  '"q"',
  'Ärger',
  'ärger',
  '株式',
  '🚀',
];
const text = fc.constantFrom(...TEXTS);
const pattern = fc
  .array(
    fc.constantFrom('a', 'A', 'b', '1', '%', '%%', '_', '\\%', '\\_', '\\\\', '\\a', "'", 'ä', 'rger', '株'),
    {
      maxLength: 4,
    },
  )
  .map((parts) => parts.join(''));

interface Drawn {
  field: ExportField;
  op: string;
  value?: unknown;
  key?: string;
}

describe('the filters of an export', () => {
  let app: TestApp;
  let tenant: Tenant;
  let instance: DuckDBInstance;
  let truth: DuckDBConnection;
  let rows: Record<string, unknown>[];
  const start = Math.floor(Date.now() / DAY) * DAY - 2 * DAY;

  const exported = async (body: object) => {
    const sent = {
      since: new Date(start).toISOString(),
      until: new Date(start + DAY).toISOString(),
      ...body,
    };
    const { status, body: bytes } = await postFor(app.url, `/v1/apps/${tenant.appId}/request-logs`, {
      headers: { 'Api-Key': tenant.key },
      body: sent,
    });
    const lines = bytes.toString('utf8');
    expect([JSON.stringify(body), status]).toEqual([JSON.stringify(body), 200]);
    return lines
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  beforeAll(async () => {
    instance = await DuckDBInstance.create(':memory:');
    truth = await instance.connect();
    const pick = <Value>(index: number, salt: number, values: readonly Value[]) =>
      values[(index * 7 + salt * 13 + ((index * salt) % 11)) % values.length]!;
    const orNull = [...TEXTS, null];
    const records = Array.from({ length: ROWS }, (_, index) =>
      buildRequest({
        timestamp: start + Math.floor(index / 2),
        request_uuid: randomUUID(),
        env: pick(index, 1, ['prod', 'Dev', 'st_ging']),
        method: pick(index, 2, ['GET', 'POST', 'A_B']),
        path: pick(index, 3, [...TEXTS.filter((text) => text !== ''), null]),
        url: `u${pick(index, 4, TEXTS)}`,
        consumer: pick(index, 5, [{ identifier: 'anna' }, { identifier: 'bob' }, null]),
        status_code: pick(index, 6, [200, 404, 500, 503]),
        response_time_ms: pick(index, 7, [0, 1, 12, 4_294_967_295]),
        request_size_bytes: pick(index, 8, [null, 0, 5, 2 ** 44]),
        response_size_bytes: pick(index, 9, [null, 0, 5, 7]),
        client_ip: pick(index, 10, ['203.0.113.7', '2001:db8::1', null]),
        client_country_iso_code: pick(index, 11, ['DE', 'US', null]),
        captured_json:
          index % 4 === 0
            ? ''
            : toCaptureJson({
                ...EMPTY_CAPTURE,
                request_headers: pick(index, 12, [
                  [],
                  [['X-Tag', pick(index, 13, TEXTS)]],
                  [
                    ['x-tag', pick(index, 14, TEXTS)],
                    ['X-TAG', pick(index, 15, TEXTS)],
                  ],
                ]),
                response_headers: [['other', pick(index, 16, TEXTS)]],
                request_body_json: pick(index, 17, orNull),
                response_body_json: pick(index, 18, orNull),
                trace_id: pick(index, 19, ['4bf92f3577b34da6a3ce929d0e0e4736', 'f'.repeat(32), null]),
                exception: pick(index, 20, [
                  null,
                  {
                    type: pick(index, 21, TEXTS),
                    message: pick(index, 22, TEXTS),
                    stacktrace: pick(index, 23, TEXTS),
                    tracker_event_id: pick(index, 24, orNull),
                  },
                ]),
              }),
      }),
    );
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    await tenant.write(...records);
    rows = await exported({ fields: FIELDS });
    const rowsById = new Map(rows.map((row) => [row.request_uuid, row]));
    for (const { request_uuid, captured_json, ...record } of records) {
      const { trace_id = null, exception = null } = (
        captured_json === '' ? {} : JSON.parse(captured_json)
      ) as { trace_id?: string; exception?: { type: string } };
      expect(rowsById.get(request_uuid)).toMatchObject({
        trace_id,
        exception_type: exception?.type ?? null,
        request_size_bytes: record.request_size_bytes,
        response_size_bytes: record.response_size_bytes,
        response_time_ms: record.response_time_ms,
        client_country_iso_code: record.client_country_iso_code,
        consumer: record.consumer?.identifier ?? null,
      });
    }
    expect(rows).toHaveLength(ROWS);
    const columns = FIELDS.map((field) => {
      const kind = /size|consumer_id|status|time_ms/.test(field)
        ? 'BIGINT'
        : field.endsWith('headers')
          ? 'VARCHAR[][]'
          : 'VARCHAR';
      return `${field} ${kind}`;
    });
    await truth.run(`CREATE TABLE logs (place BIGINT, ${columns.join()})`);
    const values = rows.map(
      (row, index) => `(${[index, ...FIELDS.map((field) => literal(row[field]))].join()})`,
    );
    await truth.run(`INSERT INTO logs VALUES ${values.join()}`);
  });

  afterAll(async () => {
    truth.closeSync();
    instance.closeSync();
    await app.stop();
  });

  /** A value of a row, or near to one. */
  const drawValue = (field: ExportField, op: string): fc.Arbitrary<unknown> => {
    const present = fc.nat(ROWS - 1).map((index) => rows[index]![field]);
    const { type } = EXPORT_FILTERS[field];
    if (field === 'timestamp')
      return fc.integer({ min: -2, max: 160 }).map((ms) => new Date(start + ms).toISOString());
    if (field === 'trace_id')
      return fc.constantFrom('4BF92F3577B34DA6A3CE929D0E0E4736', 'f'.repeat(32), '0'.repeat(32));
    if (type === 'UUID') return fc.oneof(present, fc.uuid());
    if (type === 'Int64')
      return fc.oneof(
        present.map((value) => value ?? 0),
        fc.constantFrom(-1, 0, 5, 404, 2 ** 40, -(2 ** 53) + 1),
      );
    if (op.includes('like')) return pattern;
    if (field.endsWith('headers')) return text;
    return fc.oneof(
      present.map((value) => value ?? ''),
      text,
    );
  };

  const drawFilter = (field: ExportField, op: string): fc.Arbitrary<Drawn> => {
    const operand = drawValue(field, op);
    const value = /^(not_)?in$/.test(op)
      ? fc.array(operand, { maxLength: 3 })
      : /null|exists/.test(op)
        ? fc.constant(undefined)
        : operand;
    const key = field.endsWith('headers')
      ? fc.constantFrom('X-tag', 'other', 'none')
      : fc.constant(undefined);
    return fc.record({ field: fc.constant(field), op: fc.constant(op), value, key }).map((drawn) => {
      const { value: drawnValue, key: drawnKey, ...rest } = drawn;
      return {
        ...rest,
        ...(drawnValue !== undefined && { value: drawnValue }),
        ...(drawnKey !== undefined && { key: drawnKey }),
      };
    });
  };

  const found = async (filters: readonly Drawn[]) => {
    const sql = `SELECT place FROM logs WHERE ${filters.map(buildCondition).join(' AND ')} ORDER BY place`;
    const places = (await truth.runAndReadAll(sql)).getRowsJson();
    return places.map(([place]) => rows[Number(place)]!.request_uuid);
  };
  const check = async (filters: readonly Drawn[]) => {
    const uuids = (await exported({ filters, fields: [] })).map((row) => row.request_uuid);
    const expected = await found(filters);
    expect({ filters, uuids }).toEqual({ filters, uuids: expected });
  };

  it.each(FIELDS)(`find what DuckDB finds, %s by each operator, ${RUNS} times`, async (field) => {
    for (const op of EXPORT_FILTERS[field].operators)
      await fc.assert(
        fc.asyncProperty(drawFilter(field, op), (filter) => check([filter])),
        { numRuns: RUNS },
      );
  });

  it(`find what DuckDB finds by several together, ${20 * RUNS} times`, async () => {
    const any = fc
      .constantFrom(...FIELDS)
      .chain((field) =>
        fc.constantFrom(...EXPORT_FILTERS[field].operators).chain((op) => drawFilter(field, op)),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(any, { minLength: 2, maxLength: 3 }), (filters) => check(filters)),
      { numRuns: 20 * RUNS },
    );
  });
});

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value))
    return `[${value.map(literal).join()}]::VARCHAR${Array.isArray(value[0]) || value.length === 0 ? '[][]' : '[]'}`;
  return `'${(value as string).replaceAll("'", "''")}'`;
}

/** A condition of DuckDB's that means the same as a filter, nulls included. */
function buildCondition({ field, op, value, key }: Drawn): string {
  const negated: Record<string, string> = { neq: 'eq', is_not_null: 'is_null', not_exists: 'exists' };
  const positive = negated[op] ?? op.replace(/^not_/, '');
  const isNegated = positive !== op;
  const normal = (operand: unknown) =>
    field === 'method' && typeof operand === 'string'
      ? operand.toUpperCase()
      : field === 'trace_id' && typeof operand === 'string'
        ? operand.toLowerCase()
        : operand;
  const on = (column: string): string => {
    const compared = [value].flat().map(normal);
    const operand = literal(compared[0]);
    switch (positive) {
      case 'eq':
        return `${column} = ${operand}`;
      case 'gt':
        return `${column} > ${operand}`;
      case 'gte':
        return `${column} >= ${operand}`;
      case 'lt':
        return `${column} < ${operand}`;
      case 'lte':
        return `${column} <= ${operand}`;
      case 'in':
        return compared.length === 0 ? 'false' : `${column} IN (${compared.map(literal).join()})`;
      case 'like':
        return `${column} LIKE ${operand} ESCAPE '\\'`;
      case 'ilike':
        return `${column} ILIKE ${operand} ESCAPE '\\'`;
      case 'contains':
        return `contains(lower(${column}), lower(${operand}))`;
      case 'is_null':
        return `${column} IS NULL`;
      default:
        throw new Error(positive);
    }
  };
  if (key === undefined)
    return isNegated ? `NOT coalesce(${on(field)}, false)` : `coalesce(${on(field)}, false)`;
  const named = `list_filter(${field}, h -> lower(h[1]) = ${literal(key.toLowerCase())})`;
  if (positive === 'exists') return `len(${named}) ${isNegated ? '=' : '>'} 0`;
  const matching = `len(list_filter(${named}, h -> coalesce(${on('h[2]')}, false)))`;
  return isNegated ? `len(${named}) > 0 AND ${matching} = 0` : `${matching} > 0`;
}
