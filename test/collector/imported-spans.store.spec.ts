import type { RequestRecord } from '../../src/records/request-record.js';
import { readSpanRecords, weighSpan } from '../../src/records/span-record.js';
import { Importer } from '../../src/sources/lines/files/importer.js';
import { weighRequest } from '../../src/write/row-encoder.js';
import { type Client, TestService } from './setup/collector.js';

const MIB = 1024 * 1024;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const ROOT = '00f067aa0ba902b7';
const CHILD = '00f067aa0ba902b8';
const SECRET = 'hunter2-hunter2';
const FIELDS = ['parent_span_id', 'env', 'name', 'kind', 'status', 'duration_ns', 'attributes', 'events'];
/** Beyond 2^53, beyond 64 bits, and with a fraction that a double would change. */
const NUMBERS = '"n":9007199254740993,"one":1.0,"flags":{"b":true}';

describe('spans of imported requests', () => {
  let service: TestService;
  let client: Client;
  const startMs = Date.now() - 60_000;
  const start = BigInt(startMs) * 1_000_000n + 123_457n;

  beforeAll(async () => {
    service = await TestService.start();
  });

  beforeEach(async () => {
    client = await service.tenant();
  });

  afterAll(() => service.stop());

  const span = (id: string, members: string) =>
    `{"span_id":"${id}","start_time_ns":${start},"end_time_ns":${start + 1_500_001n},${members}}`;
  const SPANS = [
    span(ROOT, `"name":"GET /?token=${SECRET}","kind":"SERVER","status":"ERROR","attributes":{${NUMBERS}}`),
    span(CHILD, `"name":"SELECT","parent_span_id":"${ROOT}","attributes":{"db.password":"${SECRET}"}`),
    span('not-of-opentelemetry', '"name":"old"'),
  ];

  function line(members: object = {}, spans: readonly string[] = SPANS): string {
    const request = {
      timestamp: new Date(startMs).toISOString(),
      method: 'GET',
      url: 'https://shop.example.com/orders/1',
      status_code: 200,
      trace_id: TRACE,
      ...members,
    };
    return `${JSON.stringify(request).slice(0, -1)},"spans":[${spans.join()}]}`;
  }

  async function post(lines: readonly string[]) {
    const { token } = await service.api.admin.writeTokens.create(client.tenant.appId);
    const response = await fetch(`${service.collector.url}/v1/requests`, {
      method: 'POST',
      body: lines.join('\n'),
      headers: { authorization: `Bearer ${token}` },
    });
    return (await response.json()) as { imported: number };
  }

  async function importFile(lines: readonly string[]) {
    const options = { appId: client.tenant.appId, env: 'prod', source: '', now: Date.now() };
    const importer = new Importer(service.api.writer, options);
    await importer.add(lines.map((text, index) => ({ number: index + 1, text })));
    return importer.end();
  }

  async function readTrace(fields = FIELDS): Promise<string> {
    const filters = [{ field: 'trace_id', op: 'eq', value: TRACE }];
    const { status, text } = await client.tenant.post('traces', { filters, fields });
    expect([status, text]).toEqual([200, text]);
    return text;
  }

  it.each([
    ['POST /v1/requests', post],
    // In a thread.
    [
      'POST /v1/requests of long lines',
      (lines: readonly string[]) =>
        post(lines.map((text) => text.replace('{', `{"more":"${'x'.repeat(300_000)}",`))),
    ],
    ['a file import', importFile],
  ])('are in Query Traces and in Request Details, once, without secrets: %s', async (_, send) => {
    const lines = [line(), line({ method: 'POST' }, [])];
    expect(await send(lines)).toMatchObject({ imported: 2 });
    const text = await readTrace();
    expect(await send([...lines, line({ method: 'PUT' }, [])])).toMatchObject({ imported: 1 });
    expect(await readTrace()).toBe(text);
    expect(text).not.toContain(SECRET);
    expect(text).toContain(`"attributes":{${NUMBERS}}`);
    expect(text).toContain(`"start_time_ns":${start}`);
    const rows = text
      .trimEnd()
      .split('\n')
      .map((row) => JSON.parse(row) as object);
    const shared = { trace_id: TRACE, env: 'prod', duration_ns: 1_500_001, events: [] };
    expect(rows).toEqual([
      expect.objectContaining({
        ...shared,
        span_id: ROOT,
        parent_span_id: null,
        name: expect.stringMatching(/^GET \/\?token=\W+$/) as string,
        kind: 'SERVER',
        status: 'ERROR',
      }),
      expect.objectContaining({
        ...shared,
        span_id: CHILD,
        parent_span_id: ROOT,
        name: 'SELECT',
        kind: 'INTERNAL',
        status: 'UNSET',
      }),
    ]);
    const { data } = await client.tenant.logs();
    const { request_uuid = '' } = data.find(({ method }) => method === 'GET') ?? {};
    const details = await client.tenant.get(`request-logs/${request_uuid}`);
    expect(details.text).not.toContain(SECRET);
    expect(details.body).toMatchObject({ spans: [{ span_id: ROOT }, { span_id: CHILD }, { name: 'old' }] });
    const stored = await service.api.store.rows<{ spans: number }>(
      'test.spans',
      'SELECT count() AS spans FROM spans_v1 WHERE app_id = {app_id:UInt32}',
      { app_id: client.tenant.appId },
    );
    expect(stored).toEqual([{ spans: 2 }]);
  });

  it('are left out without a trace, and where they are older than spans are kept', async () => {
    const old = `{"span_id":"${ROOT}","name":"old","start_time_ns":1000,"end_time_ns":2000}`;
    const text = 'trace_id and "spans":[{"span_id":1}]';
    const lines = [
      line({ trace_id: null, request_body_json: text }),
      line({ method: 'PUT', response_body_json: text }, [old]),
    ];
    expect(await importFile(lines)).toMatchObject({ imported: 2, logged: 2 });
    expect(await readTrace()).toBe('');
  });

  it('insert into no other table where no line has spans', async () => {
    // Its names are known then.
    await importFile([line({ url: 'https://shop.example.com/orders/3' }, [])]);
    const insert = jest.spyOn(service.api.store, 'insert');
    expect(
      await importFile([
        line({}, []),
        line({ url: 'https://shop.example.com/orders/2', trace_id: null }, []),
      ]),
    ).toMatchObject({
      imported: 2,
    });
    expect(insert.mock.calls.map(([table]) => table)).toEqual(['requests']);
    insert.mockRestore();
  });

  it('count in the size of a batch', async () => {
    const spans = Array.from({ length: 500 }, (_, index) =>
      span((index + 1).toString(16).padStart(16, '0'), '"name":"SELECT"'),
    );
    const lines = Array.from({ length: 24 }, (_, index) =>
      line({ url: `https://shop.example.com/orders/${index}` }, spans),
    );
    const write = jest.spyOn(service.api.writer, 'write');
    expect(await importFile(lines)).toMatchObject({ imported: lines.length });
    const weigh = (record: RequestRecord) =>
      readSpanRecords(record, Date.now()).reduce((sum, row) => sum + weighSpan(row), weighRequest(record));
    const batches = write.mock.calls.map(([, records]) => records.map(weigh));
    write.mockRestore();
    const largest = Math.max(...batches.map((weights) => weights.reduce((sum, weight) => sum + weight, 0)));
    // One row may reach the limit.
    expect(largest).toBeLessThan(3 * MIB + Math.max(...batches.flat()));
  });
});
