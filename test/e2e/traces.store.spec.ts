import { EVENT_SEPARATOR } from '../../src/records/capture.js';
import { TestApp } from '../setup/app.js';
import { readArrow } from '../setup/arrow.js';
import { queryCsv, readParquet } from '../setup/duckdb.js';
import { postFor } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const NS = 1_000_000n;

interface Row {
  trace_id: string;
  span_id: string;
  start_time_ns: number;
  [field: string]: unknown;
}

/** Columns of a span; IDs are numbers. */
interface SpanInit {
  trace?: number;
  parent?: number;
  at?: bigint;
  [column: string]: unknown;
}

const hex = (id: number, digits: number) => id.toString(16).padStart(digits, '0');
const iso = (epochMs: number) => new Date(epochMs).toISOString();

describe('POST /v1/apps/{app_id}/traces', () => {
  let app: TestApp;
  let tenant: Tenant;
  let spans = 0;
  const start = Math.floor((Date.now() - 48 * HOUR) / HOUR) * HOUR;
  const window = { since: iso(start), until: iso(start + HOUR) };

  beforeAll(async () => {
    app = await TestApp.start();
  });

  beforeEach(async () => {
    tenant = await Tenant.create(app);
    await tenant.write({ env: 'prod' });
    spans = 0;
  });

  afterAll(() => app.stop());

  async function write(...list: SpanInit[]): Promise<string[]> {
    const app_env_id = await tenant.envId('prod');
    const rows = list.map(({ trace = 1, parent, at = 0n, ...columns }) => ({
      app_id: tenant.appId,
      app_env_id,
      start_time_ns: String(BigInt(start) * NS + at),
      duration_ns: '1500000001',
      trace_id: hex(trace, 32),
      span_id: hex(++spans, 16),
      parent_span_id: parent === undefined ? '' : hex(parent, 16),
      name: 'GET /users',
      kind: 'SERVER',
      status: 'UNSET',
      scope_name: '',
      scope_version: '',
      attributes: '{}',
      events: '[]',
      ...columns,
    }));
    await app.store.insert(
      'logged_spans',
      rows.map((row) => JSON.stringify(row)),
    );
    return rows.map(({ span_id }) => span_id);
  }

  const readRows = async (body: object): Promise<Row[]> => {
    const response = await tenant.post('traces', { ...window, ...body });
    expect([response.status, response.text]).toEqual([200, response.text]);
    const lines = response.text.split('\n');
    expect(lines.pop()).toBe('');
    return lines.map((line) => JSON.parse(line) as Row);
  };
  const readIds = async (...filters: object[]) =>
    (await readRows({ filters })).map(({ span_id }) => Number.parseInt(span_id, 16));

  it('returns spans in their order, each once, with the fields of the request after the key', async () => {
    await write({ at: 2n, trace: 2 }, { at: 2n, trace: 1, parent: 1 }, { at: 1n }, { at: -1n });
    // The third again, as in another message.
    spans = 2;
    await write({ at: 1n });
    const text = (await tenant.post('traces', window)).text;
    const [first = ''] = text.split('\n');
    expect(Object.keys(JSON.parse(first))).toEqual([
      'trace_id',
      'span_id',
      'start_time_ns',
      'parent_span_id',
      'env',
      'name',
      'kind',
      'status',
      'end_time_ns',
      'duration_ns',
    ]);
    const rows = await readRows({ fields: ['parent_span_id', 'scope_name', 'env', 'span_id'] });
    expect(rows.map(({ span_id }) => Number.parseInt(span_id, 16))).toEqual([3, 2, 1]);
    expect(Object.keys(rows[0]!)).toEqual([
      'trace_id',
      'span_id',
      'start_time_ns',
      'parent_span_id',
      'scope_name',
      'env',
    ]);
    expect(rows[1]).toMatchObject({ parent_span_id: hex(1, 16), scope_name: null, env: 'prod' });
    expect(text).toContain(`"start_time_ns":${BigInt(start) * NS + 1n}`);
    expect(text).toContain(`"end_time_ns":${BigInt(start) * NS + 1_500_000_002n},"duration_ns":1500000001`);
    expect(await readRows({ fields: [] })).toEqual(
      rows.map(({ trace_id, span_id, start_time_ns }) => ({ trace_id, span_id, start_time_ns })),
    );
  });

  it('returns a field that every row has once, also when it is asked for', async () => {
    await write({});
    const { text } = await tenant.post('traces', { ...window, fields: ['span_id', 'name', 'trace_id'] });
    expect(text.match(/"[a-z_]+":/g)).toEqual(['"trace_id":', '"span_id":', '"start_time_ns":', '"name":']);
  });

  it('begins with the start of the window and leaves out its end, to the nanosecond', async () => {
    const end = BigInt(HOUR) * NS;
    await write({ at: -1n }, { at: 0n }, { at: end - 1n }, { at: end });
    expect(await readIds()).toEqual([2, 3]);
  });

  it('returns attributes and events with their own types', async () => {
    const attributes = '{"a.b":"","n":9007199254740993,"half":0.5,"no":false,"list":[1,"x"]}';
    const events = '[{"timestamp":"2026-01-01T00:00:00.123456001Z","name":"e","attributes":{"k":1}}]';
    await write({ attributes, events });
    const { text } = await tenant.post('traces', { ...window, fields: ['attributes', 'events'] });
    expect(text).toContain(`"attributes":${attributes},"events":${events}}`);
  });

  it('filters by every field, values of attributes and events by their type', async () => {
    const event = (name: string, attributes: object) => ({ timestamp: iso(start), name, attributes });
    await write(
      { name: 'Alpha', kind: 'CLIENT', status: 'ERROR', trace: 7, attributes: '{"x":"1","Y":true,"n":5}' },
      {
        parent: 1,
        scope_name: 'http',
        scope_version: '1',
        duration_ns: '9',
        attributes: '{"x":1,"n":5.5}',
        events: `[${[event('exception', { type: 'A' }), event('log', { type: 'B' })].map((details) => JSON.stringify(details)).join(EVENT_SEPARATOR)}]`,
      },
      { at: 5n, attributes: '{}' },
    );
    const cases: [object | object[], number[]][] = [
      [{ field: 'trace_id', op: 'eq', value: hex(7, 32).toUpperCase() }, [1]],
      [{ field: 'trace_id', op: 'in', value: [hex(7, 32), hex(9, 32)] }, [1]],
      [{ field: 'trace_id', op: 'not_in', value: [hex(7, 32)] }, [2, 3]],
      [{ field: 'span_id', op: 'neq', value: hex(2, 16) }, [3, 1]],
      [{ field: 'parent_span_id', op: 'is_null' }, [3, 1]],
      [{ field: 'parent_span_id', op: 'eq', value: hex(1, 16) }, [2]],
      [{ field: 'env', op: 'eq', value: 'prod' }, [2, 3, 1]],
      [{ field: 'env', op: 'not_like', value: 'p%' }, []],
      [{ field: 'name', op: 'contains', value: 'alp' }, [1]],
      [{ field: 'kind', op: 'in', value: ['CLIENT'] }, [1]],
      [{ field: 'status', op: 'neq', value: 'UNSET' }, [1]],
      [{ field: 'duration_ns', op: 'lt', value: 10 }, [2]],
      [{ field: 'start_time_ns', op: 'gt', value: Number(BigInt(start) * NS) }, [3]],
      [{ field: 'scope_name', op: 'is_not_null' }, [2]],
      [{ field: 'scope_version', op: 'neq', value: '1' }, [3, 1]],
      [{ field: 'attributes', key: 'x', op: 'exists' }, [2, 1]],
      [{ field: 'attributes', key: 'x', op: 'not_exists' }, [3]],
      [{ field: 'attributes', key: 'x', op: 'eq', value: '1' }, [1]],
      [{ field: 'attributes', key: 'x', op: 'eq', value: 1 }, [2]],
      [{ field: 'attributes', key: 'x', op: 'neq', value: '2' }, [1]],
      [{ field: 'attributes', key: 'y', op: 'exists' }, []],
      [{ field: 'attributes', key: 'Y', op: 'eq', value: true }, [1]],
      [{ field: 'attributes', key: 'n', op: 'gte', value: 5.5 }, [2]],
      [{ field: 'attributes', key: 'n', op: 'not_in', value: [5.5, 7] }, [1]],
      [{ field: 'events', event_name: 'exception', op: 'exists' }, [2]],
      [{ field: 'events', event_name: 'exception', op: 'not_exists' }, [3, 1]],
      [{ field: 'events', key: 'type', op: 'exists' }, [2]],
      [{ field: 'events', key: 'type', op: 'not_exists' }, [3, 1]],
      [{ field: 'events', key: 'name', op: 'not_exists' }, [2, 3, 1]],
      [{ field: 'events', key: 'type', op: 'eq', value: 'B' }, [2]],
      [{ field: 'events', event_name: 'exception', key: 'type', op: 'eq', value: 'B' }, []],
      [
        [
          { field: 'events', key: 'type', op: 'eq', value: 'B' },
          { field: 'events', key: 'type', op: 'eq', value: 'A' },
        ],
        [2],
      ],
    ];
    for (const [filters, ids] of cases) {
      const found = await readIds(...[filters].flat());
      expect([filters, found.sort()]).toEqual([filters, ids.sort()]);
    }
    const exact = { field: 'start_time_ns', op: 'eq', value: 'here' };
    const text = JSON.stringify({ ...window, filters: [exact] });
    const { text: found } = await tenant.post(
      'traces',
      text.replace('"here"', String(BigInt(start) * NS + 5n)),
    );
    expect(found.split('\n')).toHaveLength(2);
  });

  it('returns all spans of the traces in a filter, without a window', async () => {
    await write({ trace: 5 }, { trace: 6 });
    const named = [{ field: 'trace_id', op: 'eq', value: hex(5, 32) }];
    expect(await readRows({ since: undefined, until: undefined, filters: named })).toHaveLength(1);
    for (const filter of [{ op: 'neq' }, { op: 'in', value: [] }]) {
      const rejected = await tenant.post('traces', { filters: [{ ...named[0], ...filter }] });
      expect([filter, rejected.status, rejected.body.detail?.[0]]).toMatchObject([
        filter,
        422,
        { type: 'missing', loc: ['body', 'since'] },
      ]);
    }
  });

  it('keeps to an explicit window beside a filter on traces, in which only the defaults have no bounds', async () => {
    await write(
      { trace: 5, at: -1n },
      { trace: 5 },
      { trace: 5, at: 1_000n * NS },
      { trace: 5, at: 2_000n * NS },
    );
    const filters = [{ field: 'trace_id', op: 'in', value: [hex(5, 32)] }];
    const read = async (times: { since?: string; until?: string }) => {
      const rows = await readRows({ filters, since: undefined, until: undefined, ...times });
      return rows.map(({ span_id }) => Number.parseInt(span_id, 16));
    };
    expect(await read({})).toEqual([1, 2, 3, 4]);
    expect(await read({ since: iso(start) })).toEqual([2, 3, 4]);
    expect(await read({ until: iso(start + 2_000) })).toEqual([1, 2, 3]);
    expect(await read({ since: iso(start + 1), until: iso(start + 2_000) })).toEqual([3]);
    expect(await read({ since: '2030-01-01', until: '2031-01-01' })).toEqual([]);
    expect(await read({ since: '2099-01-01' })).toEqual([]);
  });

  it('compares integers of attributes as integers, and others as doubles', async () => {
    const [large, next] = ['9007199254740993', '9007199254740992'];
    const numbers = [large, next, '-9007199254740993', '18446744073709551615', '5', '5.0', '5.5'];
    await write(...numbers.map((n, index) => ({ at: BigInt(index), attributes: `{"n":${n}}` })));
    for (const [op, value, found] of [
      ['eq', large, [large]],
      ['eq', next, [next]],
      ['gt', next, [large, '18446744073709551615']],
      ['lte', '-9007199254740993', ['-9007199254740993']],
      ['lt', '-9007199254740992', ['-9007199254740993']],
      ['eq', '18446744073709551615', ['18446744073709551615']],
      ['eq', '18446744073709551616', []],
      ['lt', '1'.repeat(400), numbers],
      ['eq', '5', ['5', '5.0']],
      ['eq', '5.0', ['5', '5.0']],
      ['gte', '5.5', [large, next, '18446744073709551615', '5.5']],
      ['in', `[${large},5.5,1e99]`, [large, '5.5']],
      ['not_in', `[${large},5]`, [next, '-9007199254740993', '18446744073709551615', '5.5']],
      ['in', '[0.5]', []],
    ] as const) {
      const filter = `{"field":"attributes","key":"n","op":"${op}","value":${value}}`;
      const body = `${JSON.stringify({ ...window, fields: ['attributes'] }).slice(0, -1)},"filters":[${filter}]}`;
      const { text } = await tenant.post('traces', body);
      expect([op, value, [...text.matchAll(/"n":([-\d.]+)/g)].map(([, n]) => n)]).toEqual([op, value, found]);
    }
  });

  it.each([
    [{ since: '0001-01-01', until: '0001-01-02' }],
    [{ since: '2500-01-01', until: '2600-01-01' }],
    [{ since: '0001-01-01', until: '9999-12-31' }],
  ])('has a window of any time: %j', async (times) => {
    const { status, text } = await tenant.post('traces', times);
    expect([status, text]).toEqual([200, '']);
  });

  it.each([['2100-01-01'], ['9841-09-16T16:59:27+20:19']])(
    'rejects a window from %s until now',
    async (since) => {
      const { status, body } = await tenant.post('traces', { since });
      expect([status, body.detail]).toMatchObject([422, [{ loc: ['body', 'since'] }]]);
      expect(body.detail[0].msg).toBe((await tenant.post('request-logs', { since })).body.detail[0].msg);
    },
  );

  it('rejects operators, keys and values that a field does not support', async () => {
    const filters = [
      { field: 'kind', op: 'eq', value: 'server' },
      { field: 'name', op: 'is_null' },
      { field: 'trace_id', op: 'eq', value: 'abc' },
      { field: 'attributes', op: 'eq', value: 1 },
      { field: 'attributes', key: 'a', op: 'like', value: 1 },
      { field: 'attributes', key: 'a', op: 'in', value: ['a', 1] },
      { field: 'attributes', key: 'a', op: 'in', value: [] },
      { field: 'attributes', key: 'a', op: 'gt', value: true },
      { field: 'events', op: 'exists' },
      { field: 'name', event_name: 'a', op: 'eq', value: 'a' },
      { field: 'duration_ns', op: 'eq', value: 1.5 },
      { field: 'duration_ns', op: 'eq', value: 2 ** 63 },
    ];
    const response = await tenant.post('traces', { ...window, filters });
    expect(response.status).toBe(422);
    const places = response.body.detail.map(({ loc }: { loc: (string | number)[] }) =>
      loc.slice(2).join('.'),
    );
    expect(places).toEqual([
      '0.value',
      '1.op',
      '2.value',
      '3.key',
      '4.value',
      '5.value',
      '6.value',
      '7.value',
      '8.key',
      '9.event_name',
      '10.value',
      '11.value',
    ]);
  });

  it('reads each form of an integer, and names a refused value as it was sent', async () => {
    await write({}, { duration_ns: '2500000000' });
    const query = (filters: string) =>
      tenant.post('traces', `${JSON.stringify(window).slice(0, -1)},"filters":[${filters}]}`);
    for (const integer of ['2000000000', '2000000000.0', '2e9']) {
      const { text } = await query(
        `{"field":"attributes","key":"absent","op":"not_exists"},{"field":"duration_ns","op":"gt","value":${integer}}`,
      );
      expect([integer, text.match(/"duration_ns":\d+/g)]).toEqual([integer, ['"duration_ns":2500000000']]);
    }
    const large = '99999999999999999999999';
    const { body } = await query(
      `{"field":"duration_ns","op":"gt","value":${large}},{"field":"name","op":"eq","value":[${large}]},${large}`,
    );
    const issues = body.detail as { type: string; loc: unknown[]; input: unknown }[];
    expect(issues.map(({ type, loc, input }) => [type, loc.slice(2).join('.'), input])).toEqual([
      ['value_error', '0.value', Number(large)],
      ['value_error', '1.value', [Number(large)]],
      ['model_attributes_type', '2', Number(large)],
    ]);
  });

  it('returns every row once over many pages, those after `after`, at most `limit`, and the same sample each time', async () => {
    const count = 3_000;
    await write(...Array.from({ length: count }, (_, index) => ({ at: BigInt(Math.floor(index / 3)) })));
    const all = await readRows({ fields: [] });
    expect(new Set(all.map(({ span_id }) => span_id)).size).toBe(count);
    const middle = all[1_499]!;
    const after = { trace_id: middle.trace_id, span_id: middle.span_id, start_time_ns: 'here' };
    const body = JSON.stringify({ ...window, fields: [], after }).replace(
      '"here"',
      String(BigInt(start) * NS + BigInt(Math.floor((Number.parseInt(middle.span_id, 16) - 1) / 3))),
    );
    const rest = (await tenant.post('traces', body)).text.split('\n').slice(0, -1);
    expect(rest.map((line) => (JSON.parse(line) as Row).span_id)).toEqual(
      all.slice(1_500).map(({ span_id }) => span_id),
    );
    expect(await readRows({ fields: [], limit: 7 })).toEqual(all.slice(0, 7));
    const sample = await readRows({ fields: [], sample: 0.1 });
    expect(sample.length).toBeGreaterThan(150);
    expect(sample.length).toBeLessThan(600);
    expect(await readRows({ fields: [], sample: 0.1 })).toEqual(sample);
  });

  it('returns the same rows in every format, with trailers that say that they are all', async () => {
    await write({ attributes: '{"a":"line\\r\\n\\"b"}', parent: 1 }, { at: 1n });
    const fields = ['parent_span_id', 'env', 'name', 'duration_ns', 'attributes', 'events', 'scope_name'];
    const [row] = await readRows({ fields });
    const fetched = await postFor(app.url, `/v1/apps/${tenant.appId}/traces`, {
      headers: { 'api-key': tenant.key, te: 'trailers' },
      body: { ...window, fields },
    });
    expect(fetched.trailers).toEqual({ 'x-row-count': '2', 'x-complete': 'true' });
    const file = async (format: string) =>
      (
        await postFor(app.url, `/v1/apps/${tenant.appId}/traces`, {
          headers: { 'api-key': tenant.key },
          body: { ...window, fields, format },
        })
      ).body;
    const arrow = readArrow(await file('arrow'));
    const parquet = await readParquet(await file('parquet'));
    const csv = await queryCsv(await file('csv'), 'SELECT * FROM rows');
    expect((await file('csv_spreadsheet')).toString()).toBe((await file('csv')).toString());
    const expected = [
      ...[row!.trace_id, row!.span_id, String(BigInt(start) * NS), hex(1, 16), 'prod', 'GET /users'],
      ...['1500000001', JSON.stringify(row!.attributes), '[]', null],
    ];
    for (const rows of [arrow.rows, parquet.rows, csv]) {
      expect(rows).toHaveLength(2);
      const texts = rows[0]!.map((value) => (value === null ? null : String(value as string | bigint)));
      expect(texts).toEqual(expected);
    }
    expect(arrow.fields).toContain('attributes Utf8 not null');
    expect(arrow.fields).toContain('start_time_ns Int64 not null');
  });

  it('returns no spans of another app', async () => {
    await write({});
    const other = await tenant.sibling();
    expect((await other.post('traces', window)).text).toBe('');
  });
});

describe('the limit of queries of traces', () => {
  it('rejects a key beyond it, while other operations and keys go on', async () => {
    const app = await TestApp.start({ TRACES_RATE_LIMIT_PER_MINUTE: '2' });
    try {
      const [tenant, other] = [await Tenant.create(app), await Tenant.create(app)];
      const body = { since: iso(Date.now() - HOUR) };
      const statuses: number[] = [];
      for (let n = 0; n < 3; n++) statuses.push((await tenant.post('traces', body)).status);
      expect(statuses).toEqual([200, 200, 429]);
      const { headers, body: error } = await tenant.post('traces', body);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(error).toEqual({ detail: 'Rate limit exceeded' });
      expect((await tenant.post('request-logs', body)).status).toBe(200);
      expect((await other.post('traces', body)).status).toBe(200);
    } finally {
      await app.stop();
    }
  });
});
