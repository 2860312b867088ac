import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import {
  Span_SpanKind,
  Status_StatusCode,
} from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { Importer } from '../../src/sources/lines/files/importer.js';
import { parseFormatChoice } from '../../src/sources/lines/formats/request-format.js';
import { WITHOUT_CACHE } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { Client, TestService } from './setup/collector.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';
import { OtlpSender, attributes, durations, serverSpan, toOtlpJson, traces } from './setup/otlp.js';

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start({ ...WITHOUT_CACHE, COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0' });
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

const { INTERNAL, SERVER, CLIENT } = Span_SpanKind;
const URL = 'https://api.example.com/mcp';
const WEATHER = '/mcp#tools/call/get_weather';
type Span = ReturnType<typeof serverSpan>;

/** Requests by method and path, as metrics count them. */
async function readCounts(): Promise<Record<string, unknown>> {
  const rows = await client.tenant.metrics({
    since: '2020-01-01',
    metrics: ['requests'],
    group_by: ['method', 'path'],
  });
  return Object.fromEntries(
    rows.map(({ method, path, requests }) => [`${String(method)} ${String(path)}`, requests]),
  );
}

async function readLogPaths(query: Record<string, string> = {}) {
  return (await client.tenant.logs({ limit: 100, ...query })).data.map(({ path }) => path).sort();
}

async function readErrors(): Promise<Record<string, unknown>[]> {
  const { text } = await client.tenant.post('errors', { since: '2020-01-01' });
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function postLines(lines: readonly object[]): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.collector.url}/v1/requests`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sender.token}` },
    body: lines.map((line) => JSON.stringify(line)).join('\n'),
  });
  const text = await response.text();
  expect([text, response.status]).toEqual([text, 200]);
  return JSON.parse(text) as Record<string, unknown>;
}

const buildLine = (headers: Record<string, string>, members: object = {}) => ({
  timestamp: new Date(Date.now() - 60_000).toISOString(),
  method: 'POST',
  url: URL,
  status_code: 200,
  request_headers: Object.entries(headers),
  ...members,
});

const CALL = { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'get_weather' };

describe('operations within an endpoint that the headers of MCP name', () => {
  it('are endpoints of their own in the logs, the traffic and the list of endpoints', async () => {
    const others = ['search', 'ping', 'wetter für morgen', 'a/b#c'].map((name) => ({
      ...CALL,
      'Mcp-Name': name === 'wetter für morgen' ? `=?base64?${Buffer.from(name).toString('base64')}?=` : name,
    }));
    await postLines([
      ...[CALL, CALL, ...others].map((headers) => buildLine(headers)),
      buildLine({ 'mcp-method': 'tools/list' }),
      buildLine({ 'mcp-method': 'prompts/get', 'mcp-name': 'summary' }),
      // A URI or an ID is no name.
      buildLine({ 'mcp-method': 'resources/read', 'mcp-name': 'file:///tmp/1.txt' }),
      buildLine({ 'mcp-method': 'initialize' }),
    ]);
    const expected = {
      'POST /mcp#initialize': 1,
      'POST /mcp#prompts/get/summary': 1,
      'POST /mcp#resources/read': 1,
      'POST /mcp#tools/call/a/b#c': 1,
      'POST /mcp#tools/call/get_weather': 2,
      'POST /mcp#tools/call/ping': 1,
      'POST /mcp#tools/call/search': 1,
      'POST /mcp#tools/call/wetter für morgen': 1,
      'POST /mcp#tools/list': 1,
    };
    expect(await readCounts()).toEqual(expected);
    const { data } = await client.tenant.page<{ method: string; path: string }>('endpoints');
    expect(data.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(expected).sort());
    expect(await readLogPaths()).toHaveLength(10);
    expect(await readLogPaths({ path: WEATHER })).toEqual([WEATHER, WEATHER]);
    expect(await readLogPaths({ path: '/mcp' })).toEqual([]);
    expect(await readLogPaths({ path: '/mcp*' })).toHaveLength(10);
    const exported = await client.tenant.post('request-logs', {
      since: '2020-01-01',
      fields: ['method', 'path'],
      filters: [{ field: 'path', op: 'eq', value: WEATHER }],
    });
    expect(exported.text.match(/"path":"[^"]+"/g)).toEqual(Array(2).fill(`"path":"${WEATHER}"`));
    await client.tenant.exclude('POST', WEATHER);
    expect(await readLogPaths({ path: '/mcp#tools/call/*' })).toHaveLength(4);
  });

  it('count only where the server took a POST, and do not change a path that has one', async () => {
    await postLines([
      buildLine(CALL, { method: 'GET' }),
      ...[400, 401, 404, 405].map((status_code) => buildLine(CALL, { status_code, path: '/mcp' })),
      buildLine(CALL, { status_code: 500 }),
      buildLine({ ...CALL, 'Mcp-Name': 'other' }, { path: WEATHER }),
      buildLine({ 'Mcp-Method': 'not a method' }, { path: '/mcp' }),
      buildLine(CALL, { path: null }),
    ]);
    expect(await readCounts()).toEqual({
      'GET /mcp': 1,
      'POST /mcp': 5,
      [`POST ${WEATHER}`]: 2,
      'null null': 1,
    });
  });

  it('are bounded as endpoints are, and take at most half of their limit', async () => {
    await service.api.admin.apps.setNameLimits(client.tenant.appId, { endpoints: 20 });
    const lines = Array.from({ length: 200 }, (_, n) => buildLine({ ...CALL, 'Mcp-Name': `invented-${n}` }));
    await postLines(lines);
    const counts = await readCounts();
    expect(Object.keys(counts)).toHaveLength(11);
    expect(counts['* *']).toBe(190);
  });

  it('are cut and redacted as paths are', async () => {
    await postLines([
      buildLine({ ...CALL, 'Mcp-Name': `key-${'x'.repeat(500)}` }),
      buildLine({ ...CALL, 'Mcp-Name': 'show?api_key=hunter2-hunter2' }),
      buildLine({ ...CALL, 'Mcp-Name': 'two\u0007parts' }),
    ]);
    const [cut, masked, parts] = (await readLogPaths()) as [string, string, string];
    expect(cut).toBe(`/mcp#tools/call/key-${'x'.repeat(124)}`);
    expect(masked).toMatch(/^\/mcp#tools\/call\/show\?api_key=/);
    expect(masked).not.toContain('hunter2');
    expect(parts).toBe('/mcp#tools/call/two parts');
  });

  it('are those of access logs that have the headers', async () => {
    const time = new Date(Date.now() - 60_000).toISOString();
    const format = '$remote_addr [$time_iso8601] "$request" $status "$http_mcp_method" "$http_mcp_name"';
    const object = {
      time_iso8601: time,
      request_method: 'POST',
      request_uri: '/mcp',
      status: 200,
      http_mcp_method: 'tools/call',
      http_mcp_name: 'get_weather',
    };
    const call = `8.8.8.8 [${time}] "POST /mcp HTTP/1.1" 200 "tools/call" "get_weather"`;
    for (const [text, named] of [
      [call, parseFormatChoice(format, undefined)],
      [JSON.stringify(object), undefined],
    ] as const) {
      const options = { appId: client.tenant.appId, env: 'prod', source: '', now: Date.now(), format: named };
      const importer = new Importer(service.api.writer, options);
      await importer.add([{ number: 1, text }]);
      expect(await importer.end()).toMatchObject({ imported: 1 });
    }
    expect(await readCounts()).toEqual({ [`POST ${WEATHER}`]: 2 });
  });
});

const MCP_SPAN = {
  'mcp.method.name': 'tools/call',
  'gen_ai.tool.name': 'get_weather',
  'gen_ai.operation.name': 'execute_tool',
};
const request = (values: Parameters<typeof serverSpan>[0] = {}, overrides = {}) =>
  serverSpan(
    { 'http.request.method': 'POST', 'http.route': '/mcp', 'url.path': '/mcp', ...values },
    overrides,
  );
const below = (
  { traceId, spanId }: Span,
  values: Parameters<typeof attributes>[0] = MCP_SPAN,
  overrides = {},
) =>
  serverSpan(
    {},
    { traceId, parentSpanId: spanId, kind: SERVER, attributes: attributes(values), ...overrides },
  );

describe('operations that spans name', () => {
  it.each(['protobuf', 'json'])('are those of the span itself and of its headers (%s)', async (encoding) => {
    const body = traces([
      request(MCP_SPAN),
      request({
        'http.request.header.mcp-method': ['tools/call'],
        'http.request.header.mcp-name': ['get_weather'],
      }),
      request({ 'rpc.system': 'jsonrpc', 'rpc.method': 'getUser' }),
      request({ 'rpc.system.name': 'jsonrpc', 'rpc.method': '_OTHER' }),
      request({ 'rpc.system': 'grpc', 'rpc.method': 'Get' }),
      request(),
    ]);
    if (encoding === 'protobuf') await sender.deliver('traces', body);
    else
      expect(
        await sender.send('traces', JSON.stringify(toOtlpJson('traces', body)), { type: 'application/json' }),
      ).toMatchObject({ status: 200 });
    expect(await readCounts()).toEqual({
      'POST /mcp': 2,
      'POST /mcp#_OTHER': 1,
      'POST /mcp#getUser': 1,
      [`POST ${WEATHER}`]: 2,
    });
  });

  it('are those of a span below, in the same body, an earlier one, or linked from another trace', async () => {
    const [first, second, third, fourth] = [request(), request(), request(), request()];
    await sender.deliver('traces', traces([below(first, MCP_SPAN, { kind: INTERNAL }), first]));
    await sender.deliver('traces', traces([below(second)]));
    await sender.deliver('traces', traces([second]));
    const elsewhere = serverSpan();
    const { traceId, spanId } = third;
    await sender.deliver('traces', traces([below(elsewhere, MCP_SPAN, { links: [{ traceId, spanId }] })]));
    await sender.deliver('traces', traces([third]));
    const sent: Promise<void>[] = [];
    await service.collector.holdBatches(async (countWaiting) => {
      for (const spans of [[fourth], [below(fourth)]]) {
        sent.push(sender.deliver('traces', traces(spans)));
        await eventually(() => countWaiting() === sent.length);
      }
    });
    await Promise.all(sent);
    expect(await readCounts()).toEqual({ [`POST ${WEATHER}`]: 4 });
    expect(await readLogPaths()).toEqual([WEATHER, WEATHER, WEATHER, WEATHER]);
  });

  it('are not those of calls to other servers, nor of the server that is called', async () => {
    const agent = request({ 'http.route': '/chat' });
    const call = below(agent, MCP_SPAN, { kind: CLIENT });
    const served = below(call);
    const tool = request({}, { traceId: call.traceId, parentSpanId: call.spanId });
    await sender.deliver('traces', traces([served, below(tool), tool, call, agent]));
    expect(await readCounts()).toEqual({ 'POST /chat': 1, [`POST ${WEATHER}`]: 1 });
  });

  it('do not hide the consumer that a span below that of the message names', async () => {
    const root = request();
    const message = below(root);
    const handler = below(message, { 'user.id': 'alice' }, { kind: INTERNAL });
    await sender.deliver('traces', traces([handler, message, root]));
    const { data } = await client.tenant.logs();
    expect(data).toMatchObject([{ path: WEATHER, consumer: 'alice' }]);
  });

  it('are redacted, also where they wait for their request', async () => {
    const root = request();
    const secret = {
      ...MCP_SPAN,
      'gen_ai.tool.name': 'show?api_key=hunter2-hunter2',
      'error.type': 'tool_error',
    };
    const message = 'password=hunter2-hunter2';
    await sender.deliver('traces', traces([below(root, secret, { status: { code: 2, message } })]));
    await sender.deliver('traces', traces([root]));
    const [path] = await readLogPaths();
    expect(path).toMatch(/^\/mcp#tools\/call\/show\?api_key=/);
    expect(path).not.toContain('hunter2');
    const [error] = await readErrors();
    expect(error).toMatchObject({ type: 'tool_error' });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });
});

describe('an error within a response of status 200', () => {
  const { ERROR } = Status_StatusCode;

  it('is an error of the operation if a span says so, and its status stays', async () => {
    const [tool, code, ownError, fine] = [
      request(),
      request(),
      request(MCP_SPAN, { status: { code: ERROR } }),
      request(),
    ];
    const failed = { ...MCP_SPAN, 'error.type': 'tool_error' };
    await sender.deliver(
      'traces',
      traces([
        below(tool, failed, { status: { code: ERROR, message: 'no such city' } }),
        tool,
        below(code, { ...MCP_SPAN, 'rpc.response.status_code': '-32602' }),
        code,
        ownError,
        below(fine, { ...MCP_SPAN, 'rpc.response.status_code': '0' }),
        fine,
        // No operation: what its span says of a 200 stays in the span.
        request({ 'http.route': '/users' }, { status: { code: ERROR } }),
      ]),
    );
    const errors = await readErrors();
    expect(
      errors.map(({ kind, type, message, path, errors: n }) => [kind, type, message, path, n]).sort(),
    ).toEqual([
      ['exception', '-32602', null, WEATHER, 1],
      ['exception', 'Error', null, WEATHER, 1],
      ['exception', 'tool_error', 'no such city', WEATHER, 1],
    ]);
    const { data } = await client.tenant.logs({ path: WEATHER });
    expect(data.map(({ status_code }) => status_code)).toEqual([200, 200, 200, 200]);
    const rows = await client.tenant.metrics({ since: '2020-01-01', metrics: ['requests', 'error_rate'] });
    expect(rows).toMatchObject([{ requests: 5, error_rate: 0 }]);
    const filters = [{ field: 'exception_type', op: 'eq', value: 'tool_error' }];
    const { text } = await client.tenant.post('request-logs', {
      since: '2020-01-01',
      fields: ['path', 'exception_type'],
      filters,
    });
    const { request_uuid, exception_type } = JSON.parse(text) as Record<string, string>;
    const { body } = await client.tenant.get(`request-logs/${request_uuid}`);
    expect([exception_type, body.exception]).toMatchObject([
      'tool_error',
      { type: 'tool_error', message: 'no such city', stacktrace: '' },
    ]);
    // Sent again, it is no further error.
    await sender.deliver('traces', traces([tool]));
    expect((await readErrors()).length).toBe(3);
  });

  it('is an error if a GraphQL operation of an app that tells them apart has one', async () => {
    const names = { 'graphql.operation.type': 'query', 'graphql.operation.name': 'GetUser' };
    const send = async () => {
      const root = request({ 'http.route': '/graphql' });
      const operation = below(root, names, {
        kind: INTERNAL,
        status: { code: ERROR, message: 'no such user' },
      });
      await sender.deliver('traces', traces([operation, root]));
    };
    await send();
    expect([await readCounts(), await readErrors()]).toEqual([{ 'POST /graphql': 1 }, []]);
    const { apps } = service.api.admin;
    expect(await apps.setGraphql(client.tenant.appId, true)).toEqual({
      id: client.tenant.appId,
      graphql: true,
    });
    await send();
    const mutation = { 'graphql.operation.type': 'mutation', 'graphql.operation.name': '' };
    await sender.deliver('traces', traces([request({ 'http.route': '/graphql', ...mutation })]));
    expect(await readCounts()).toEqual({
      'POST /graphql': 1,
      'POST /graphql#mutation': 1,
      'POST /graphql#query/GetUser': 1,
    });
    expect(await readErrors()).toMatchObject([{ type: 'Error', message: 'no such user', errors: 1 }]);
    await apps.setGraphql(client.tenant.appId, false);
    await send();
    expect(await readCounts()).toMatchObject({ 'POST /graphql': 2, 'POST /graphql#query/GetUser': 1 });
  });

  it('of a server is that which the client library reports, with its request', async () => {
    const error = { type: 'ValueError', msg: 'order 7', traceback: 'ValueError: order 7' };
    const of = { method: 'POST', path: '/mcp' };
    await client.send('sync', {
      ...buildSync({ requests: [buildCount({ ...of, status_code: 500 })] }),
      server_errors: [{ ...of, ...error, error_count: 1 }],
    });
    const item = buildLogItem({
      request: { ...of, url: URL, headers: Object.entries(CALL) },
      response: { statusCode: 500 },
      exception: { type: error.type, message: error.msg, stacktrace: error.traceback },
    });
    await client.sendLog([item]);
    expect(await readErrors()).toMatchObject([
      { kind: 'server', path: '/mcp', errors: 1, request_uuid: item.uuid },
    ]);
    expect(await readCounts()).toEqual({ 'POST /mcp': 1 });
  });

  it('is an error also beyond the limit of endpoints', async () => {
    await service.api.admin.apps.setNameLimits(client.tenant.appId, { endpoints: 2 });
    const exception = { type: 'tool_error', message: 'no such city', stacktrace: '' };
    await postLines([buildLine({ 'Mcp-Method': 'ping' }), buildLine(CALL, { exception })]);
    const root = request();
    const failed = below(
      root,
      { ...MCP_SPAN, 'error.type': 'tool_error' },
      { status: { message: 'no such city' } },
    );
    await sender.send('traces', traces([failed, root]));
    expect(await readCounts()).toEqual({ '* *': 2, 'POST /mcp#ping': 1 });
    const errors = await readErrors();
    expect(errors.map(({ env, type, path, errors: n }) => [env, type, path, n]).sort()).toEqual([
      ['default', 'tool_error', '*', 1],
      ['prod', 'tool_error', '*', 1],
    ]);
  });

  it('is an error if a line or a log item has an exception', async () => {
    const exception = { type: 'tool_error', message: 'no such city', stacktrace: '' };
    await postLines([buildLine(CALL, { exception }), buildLine({}, { exception })]);
    const headers = Object.entries(CALL);
    const item = { request: { method: 'POST', path: '/mcp', url: URL, headers }, exception };
    expect((await client.sendLog([buildLogItem(item)])).status).toBe(202);
    const errors = await readErrors();
    expect(errors.map(({ type, path, errors: n }) => [type, path, n])).toEqual([['tool_error', WEATHER, 2]]);
  });
});

describe('requests that a metric counts by their route', () => {
  const MINUTE = 60_000;
  const MS = 1_000_000n;
  const start = (Math.floor(Date.now() / MINUTE) - 10) * MINUTE;
  const at = (ms: number) => BigInt(start + ms) * MS;
  const span = (values: object = {}) =>
    request(values as Record<string, string>, { startTimeUnixNano: at(5_000), endTimeUnixNano: at(5_050) });
  const point = (count: number, values: Record<string, string> = {}) =>
    durations([
      {
        startTimeUnixNano: at(0),
        timeUnixNano: at(60_000),
        attributes: attributes({
          'http.request.method': 'POST',
          'http.route': '/mcp',
          'http.response.status_code': 200,
          ...values,
        }),
        explicitBounds: [0.01, 0.1, 1],
        bucketCounts: [0n, BigInt(count), 0n, 0n],
        count: BigInt(count),
        sum: 0.05 * count,
      },
    ]);

  it.each(['before', 'after'])('move to the operations of their spans, sent %s the metric', async (order) => {
    const spans = traces([
      span(MCP_SPAN),
      span({ ...MCP_SPAN, 'user.id': 'alice' }),
      span({ 'user.id': 'bob' }),
    ]);
    const bodies = [['traces', spans] as const, ['metrics', point(5)] as const];
    // An empty point first: the instance is counted by its metric.
    await sender.deliver('metrics', point(0));
    for (const [signal, body] of order === 'before' ? bodies : bodies.toReversed())
      await sender.deliver(signal, body);
    await sender.deliver('traces', spans);
    expect(await readCounts()).toEqual({ 'POST /mcp': 3, [`POST ${WEATHER}`]: 2 });
    const rows = await client.tenant.metrics({
      since: '2020-01-01',
      metrics: ['requests'],
      group_by: ['path', 'consumer_id'],
    });
    const [alice, bob] = [await client.tenant.consumerId('alice'), await client.tenant.consumerId('bob')];
    expect(rows.map(({ path, consumer_id, requests }) => [path, consumer_id, requests])).toEqual(
      expect.arrayContaining([
        [WEATHER, alice, 1],
        [WEATHER, null, 1],
        ['/mcp', bob, 1],
        ['/mcp', null, 2],
      ]),
    );
    expect(rows).toHaveLength(4);
  });

  it('leave no row of the route where all of them move', async () => {
    await sender.deliver('metrics', point(0));
    await sender.deliver('traces', traces([span(MCP_SPAN), span(MCP_SPAN)]));
    await sender.deliver('metrics', point(2));
    expect(await readCounts()).toEqual({ [`POST ${WEATHER}`]: 2 });
    const { data } = await client.tenant.traffic();
    expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
  });

  it('keep the consumer that the metric names', async () => {
    const named = { 'apitally.consumer.identifier': 'alice' };
    await sender.deliver('metrics', point(0, named));
    await sender.deliver(
      'traces',
      traces([span({ ...MCP_SPAN, ...named }), span({ ...MCP_SPAN, ...named })]),
    );
    await sender.deliver('metrics', point(3, named));
    expect(await readCounts()).toEqual({ 'POST /mcp': 1, [`POST ${WEATHER}`]: 2 });
    const { data } = await client.tenant.traffic({ consumer_id: await client.tenant.consumerId('alice') });
    expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(3);
  });
});

describe('requests that a client library counts by their route', () => {
  const headers = Object.entries(CALL);
  const item = (members: object = {}) =>
    buildLogItem({
      request: { method: 'POST', path: '/mcp', url: URL, headers, ...members },
    });
  const count = (request_count: number, members: object = {}) =>
    buildSync({
      requests: [
        buildCount({
          method: 'POST',
          path: '/mcp',
          request_count,
          response_times: { '0': request_count },
          ...members,
        }),
      ],
    });
  const deliver = async (kind: 'sync' | 'log', body: object) => {
    const { status } = kind === 'sync' ? await client.send('sync', body) : await client.sendLog([body]);
    expect(status).toBe(202);
  };

  it('move to the operations of logged requests, whichever arrives first', async () => {
    await deliver('log', item());
    await deliver('sync', count(3));
    await deliver('log', item());
    expect(await readCounts()).toEqual({ 'POST /mcp': 1, [`POST ${WEATHER}`]: 2 });
    expect(await readLogPaths()).toEqual([WEATHER, WEATHER]);
    // There is no further request than those that were counted.
    await deliver('log', item());
    await deliver('log', item());
    expect(await readCounts()).toEqual({ [`POST ${WEATHER}`]: 3 });
  });

  it('are moved once, also if the message comes again, and only those of its consumer', async () => {
    const logged = item({ consumer: 'alice' });
    await deliver('log', logged);
    await deliver('log', logged);
    await deliver('sync', count(2));
    expect(await readCounts()).toEqual({ 'POST /mcp': 2 });
    await deliver('sync', count(2, { consumer: 'alice' }));
    expect(await readCounts()).toEqual({ 'POST /mcp': 3, [`POST ${WEATHER}`]: 1 });
    await deliver('log', logged);
    expect(await readCounts()).toEqual({ 'POST /mcp': 3, [`POST ${WEATHER}`]: 1 });
  });

  it('are counted once, in whatever order counts and log files arrive and come again', async () => {
    const requestOf = fc.record({
      operation: fc.constantFrom('tools/list', 'initialize', null),
      consumer: fc.constantFrom(null, 'alice', 'bob'),
      status_code: fc.constantFrom(200, 500),
      isLogged: fc.boolean(),
      size: fc.integer({ min: 0, max: 5_000 }),
    });
    type Request = typeof requestOf extends fc.Arbitrary<infer T> ? T : never;
    /** Sums of requests and bytes by path, status and consumer. */
    const sumUp = (
      all: readonly (readonly [path: unknown, status: unknown, who: unknown, size: number])[],
    ) => {
      const sums = new Map<string, [requests: number, bytes: number]>();
      for (const [path, status, who, size] of all) {
        const key = [path, status, who].join(' ');
        const [n, bytes] = sums.get(key) ?? [0, 0];
        sums.set(key, [n + 1, bytes + size]);
      }
      return Array.from(sums, ([key, sum]) => `${key}: ${sum.join(' ')}`).sort();
    };
    const readSums = async () => {
      const { data } = await client.tenant.consumers();
      const names = new Map<unknown, unknown>([
        [null, null],
        ...data.map(({ id, identifier }) => [id, identifier] as const),
      ]);
      const rows = await client.tenant.metrics({
        since: '2020-01-01',
        metrics: ['requests', 'bytes_sent'],
        group_by: ['path', 'status_code', 'consumer_id'],
      });
      return rows
        .map(
          ({ path, status_code, consumer_id, requests, bytes_sent }) =>
            `${[path, status_code, names.get(consumer_id)].join(' ')}: ${String(requests)} ${String(bytes_sent)}`,
        )
        .sort();
    };
    const bin = (size: number) => String(Math.floor(size / 1000));
    const toCount = ({ consumer, status_code, size }: Request) =>
      buildCount({
        method: 'POST',
        path: '/mcp',
        consumer,
        status_code,
        response_size_sum: size,
        response_sizes: { [bin(size)]: 1 },
      });
    const toItem = ({ operation, consumer, status_code, size }: Request) =>
      buildLogItem({
        request: {
          method: 'POST',
          path: '/mcp',
          url: URL,
          consumer,
          headers: operation === null ? [] : [['mcp-method', operation]],
        },
        response: { statusCode: status_code, size },
      });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(requestOf, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
        fc.noShrink(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }))),
        async (minutes, randoms) => {
          client = await service.tenant();
          const random = () => randoms.next().value as number;
          // Counts that arrive before the first operation stay with the route.
          const first = {
            operation: 'tools/list',
            consumer: null,
            status_code: 200,
            isLogged: true,
            size: 0,
          };
          expect((await client.sendLog([toItem(first as Request)])).status).toBe(202);
          const bodies = [[first as Request], ...minutes].flatMap((requests, index) => {
            const logged = requests.filter(({ isLogged }) => isLogged && index > 0).map(toItem);
            const uuid = randomUUID();
            const sync = buildSync({ requests: requests.map(toCount) });
            const deliverSync = () => client.send('sync', sync);
            return logged.length === 0 ? [deliverSync] : [deliverSync, () => client.sendLog(logged, uuid)];
          });
          const shuffled = bodies.map((send) => ({ send, at: random() })).sort((a, b) => a.at - b.at);
          for (const { send } of shuffled) {
            expect((await send()).status).toBe(202);
            if (random() < 0.3) expect((await send()).status).toBe(202);
          }
          const all = [first as Request, ...minutes.flat()];
          const expected = all.map(({ operation, isLogged, status_code, consumer, size }) => {
            const path = isLogged && operation !== null ? `/mcp#${operation}` : '/mcp';
            return [path, status_code, consumer, size] as const;
          });
          const read = await readSums();
          const withoutBytes = (sums: readonly string[]) => sums.map((sum) => sum.replace(/ \d+$/, ''));
          expect(withoutBytes(read)).toEqual(withoutBytes(sumUp(expected)));
          const bytes = (sums: readonly string[]) =>
            sums.reduce((total, sum) => total + Number(sum.split(' ').at(-1)), 0);
          expect(bytes(read)).toBe(bytes(sumUp(expected)));
        },
      ),
      { numRuns: Number(process.env.PROPERTY_RUNS ?? 5) },
    );
  }, 300_000);
});
