import { randomBytes } from 'node:crypto';
import { BODY_TOO_LARGE } from '../../src/records/limits.js';
import { findRequestUuid } from '../../src/records/server-span.js';
import { SeverityNumber } from '../../src/sources/otlp/generated/opentelemetry/proto/logs/v1/logs_pb.js';
import {
  Span_SpanKind,
  Status_StatusCode,
} from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { TestApp } from '../setup/app.js';
import { Client, TestService } from './setup/collector.js';
import { buildLogItem } from './setup/messages.js';
import {
  OtlpSender,
  attributes,
  logs,
  nanosecondsAgo,
  readResponse,
  resource,
  serverSpan,
  traces,
} from './setup/otlp.js';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0' });
});

afterAll(() => service.stop());

async function start(): Promise<{ client: Client; sender: OtlpSender; api: TestApp }> {
  const client = await service.tenant();
  return { client, sender: await OtlpSender.create(service, client), api: service.api };
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The UUID of the request that a span is. */
const buildUuid = ({ traceId, spanId, startTimeUnixNano }: ReturnType<typeof serverSpan>) =>
  findRequestUuid(hex(traceId!), hex(spanId!), startTimeUnixNano!);

describe('requests of SERVER spans', () => {
  it('are rejected alone if a batch has them that the engine rejects, and are counted once when it takes it', async () => {
    const { client, sender, api } = await start();
    const neighbour = await start();
    const { token } = await api.admin.writeTokens.create(client.tenant.appId);
    const span = serverSpan();
    const line = {
      request_uuid: buildUuid(span),
      timestamp: new Date(Date.now() - 60_000).toISOString(),
      method: 'GET',
      url: 'https://api.example.com/',
      status_code: 200,
    };
    const importLine = async () => {
      const headers = { authorization: `Bearer ${token}` };
      const init = { method: 'POST', headers, body: JSON.stringify(line) };
      return (await fetch(`${service.collector.url}/v1/requests`, init)).status;
    };
    const insert = api.store.insert.bind(api.store);
    const rejecting = jest
      .spyOn(api.store, 'insert')
      .mockImplementation((table, ...rest) =>
        table === 'requests' ? Promise.reject(new Error('Memory limit exceeded')) : insert(table, ...rest),
      );
    expect(await importLine()).toBe(503);
    const [ownResponse, ...others] = await Promise.all([
      sender.send('traces', traces([span, serverSpan()])),
      ...Array.from({ length: 5 }, () => neighbour.sender.send('traces', traces([serverSpan()]))),
    ]);
    expect([ownResponse.status, others.map(({ status }) => status)]).toEqual([503, others.map(() => 200)]);
    rejecting.mockRestore();
    await sender.deliver('traces', traces([span, serverSpan()]));
    expect(await importLine()).toBe(200);
    const { data } = await client.tenant.traffic();
    expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
  });

  it('returns a span as a request with everything that it tells', async () => {
    const { client, sender } = await start();
    const span = serverSpan({
      'http.request.method': 'POST',
      'http.response.status_code': 500,
      'url.query': 'full=1',
      'server.port': 8443,
      'http.request.body.size': 17,
      'http.response.body.size': 0,
      'client.address': '10.0.0.7',
      'network.peer.address': '8.8.8.8',
      'http.request.header.content-type': ['application/json'],
      'http.response.header.x-many': ['a', 'b'],
      'apitally.consumer.identifier': 'bob',
      'apitally.consumer.name': 'Bob',
      'apitally.consumer.group': 'Users',
      'apitally.request.body': '{"a":1}',
      'apitally.response.body': Buffer.from('{"b":""}'),
    });
    span.events = [
      {
        name: 'exception',
        timeUnixNano: nanosecondsAgo(60_000),
        attributes: attributes({
          'exception.type': 'TypeError',
          'exception.message': 'no',
          'exception.stacktrace': 'at x',
        }),
      },
    ];
    const of = resource({ 'deployment.environment.name': 'staging' });
    await sender.deliver('traces', traces([span], { of, scope: '@opentelemetry/instrumentation-fastify' }));
    const { body } = await client.tenant.get(`request-logs/${buildUuid(span)}`);
    expect(body).toMatchObject({
      env: 'staging',
      consumer: 'bob',
      method: 'POST',
      path: '/users/{id}',
      url: 'https://api.example.com:8443/users/7?full=1',
      status_code: 500,
      request_size_bytes: 17,
      response_size_bytes: 0,
      response_time_ms: 13,
      client_ip: '8.8.8.8',
      client_country_iso_code: 'US',
      request_headers: [['content-type', 'application/json']],
      response_headers: [
        ['x-many', 'a'],
        ['x-many', 'b'],
      ],
      request_body_json: '{"a":1}',
      response_body_json: '{"b":""}',
      trace_id: hex(span.traceId!),
      exception: { type: 'TypeError', message: 'no', stacktrace: 'at x' },
    });
    const [ownSpan, ...others] = body.spans as { attributes: object }[];
    expect(others).toEqual([]);
    expect(Object.keys(ownSpan!.attributes).filter((name) => name.endsWith('.body'))).toEqual([]);
    expect(Date.parse(body.timestamp)).toBe(Number(span.startTimeUnixNano! / 1_000_000n));
    const apps = await service.api.get('/v1/apps', client.tenant.key);
    expect(apps.body.data[0]).toMatchObject({ framework: 'fastify', envs: [{ name: 'staging' }] });
    const [consumer] = (await client.tenant.consumers()).data;
    expect(consumer).toMatchObject({ identifier: 'bob', name: 'Bob', group: { name: 'Users' } });
    const [row] = await client.tenant.metrics({
      since: '2025-01-01',
      metrics: ['requests', 'server_errors', 'bytes_received', 'response_time_p50'],
    });
    expect(row).toMatchObject({ requests: 1, server_errors: 1, bytes_received: 17 });
    expect(Math.abs(Number(row!.response_time_p50) - 12.5)).toBeLessThan(1);
  });

  it('reads the attributes of the conventions before', async () => {
    const { client, sender } = await start();
    const span = serverSpan(
      {},
      {
        attributes: attributes({
          'http.method': 'GET',
          'http.target': '/old?x=1',
          'http.scheme': 'http',
          'http.host': 'old.example.com:8080',
          'http.status_code': '404',
          'http.client_ip': '10.0.0.1',
          'net.peer.ip': '10.0.0.2',
          'enduser.id': 'eve',
        }),
      },
    );
    await sender.deliver('traces', traces([span]));
    expect((await client.tenant.logs()).data).toMatchObject([
      {
        env: 'default',
        consumer: 'eve',
        method: 'GET',
        path: null,
        url: 'http://old.example.com:8080/old?x=1',
        status_code: 404,
        client_ip: '10.0.0.1',
      },
    ]);
  });

  it('gives the target of a request line its slash, unless it is a URL or *', async () => {
    const { client, sender } = await start();
    const targets = ['=HYPERLINK("http://evil.example/")', '@a', '*', 'http://proxied.example.com/a', '/a'];
    const spans = targets.map((target) =>
      serverSpan({}, { attributes: attributes({ 'http.method': 'GET', 'http.target': target }) }),
    );
    await sender.deliver('traces', traces(spans));
    expect((await client.tenant.logs()).data.map(({ url }) => url).toSorted()).toEqual(
      ['/=HYPERLINK("http://evil.example/")', '/@a', '*', 'http://proxied.example.com/a', '/a'].toSorted(),
    );
  });

  it('logs and counts requests of methods that the SDK does not know under the original, else under _OTHER', async () => {
    const { client, sender } = await start();
    const buildSpan = (original: string) =>
      serverSpan({ 'http.request.method': '_OTHER', 'http.request.method_original': original });
    await sender.deliver('traces', traces([buildSpan('purge'), buildSpan('weird method'), buildSpan('')]));
    const methods = (await client.tenant.logs()).data.map(({ method }) => method);
    expect(methods.toSorted()).toEqual(['PURGE', '_OTHER', '_OTHER']);
    expect((await client.tenant.logs({ method: '_OTHER' })).data).toHaveLength(2);
    const rows = await client.tenant.metrics({
      since: '2025-01-01',
      metrics: ['requests'],
      filters: [{ field: 'method', op: 'eq', value: '_other' }],
    });
    expect(rows).toMatchObject([{ requests: 2 }]);
    const { body } = await client.tenant.get('endpoints', { method: '_OTHER' });
    expect(body.data).toMatchObject([{ method: '_OTHER', path: '/users/{id}' }]);
  });

  it('logs and counts requests of methods that are invalid, as the older conventions have them, under _OTHER', async () => {
    const { client, sender } = await start();
    const methods = ['X.GET', 'M'.repeat(33)];
    await sender.deliver(
      'traces',
      traces(methods.map((method) => serverSpan({ 'http.request.method': '', 'http.method': method }))),
    );
    expect((await client.tenant.logs()).data.map(({ method }) => method)).toEqual(['_OTHER', '_OTHER']);
    const rows = await client.tenant.metrics({ since: '2025-01-01', metrics: ['requests'] });
    expect(rows).toMatchObject([{ requests: 2 }]);
  });

  it('reads the route of the name of a span where its instrumentation says it nowhere else', async () => {
    const { client, sender } = await start();
    const attributesOf = { 'http.request.method': 'GET', 'url.path': '/users/7' };
    const span = () => serverSpan({}, { name: 'GET /users/{id}', attributes: attributes(attributesOf) });
    const scope = 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp';
    await sender.deliver('traces', traces([span()], { scope }));
    await sender.deliver('traces', traces([span()]));
    const paths = (await client.tenant.logs()).data.map(({ path }) => path);
    expect(paths.toSorted()).toEqual(['/users/{id}', null]);
  });

  it.each([
    ['text', '{"a":1,"password":"secret-5"}', '{"a":1,"password":"******"}'],
    ['bytes', Buffer.from('plain, not JSON'), '"plain, not JSON"'],
    ['an object', { a: [1, 'x'] }, '{"a":[1,"x"]}'],
  ] as const)('have the bodies that the conventions name, as %s', async (_, body, expected) => {
    const { client, sender } = await start();
    const values = { 'http.request.body.content': body, 'http.response.body.content': body };
    const span = serverSpan(values);
    await sender.deliver('traces', traces([span]));
    const { body: details } = await client.tenant.get(`request-logs/${buildUuid(span)}`);
    expect([details.request_body_json, details.response_body_json]).toEqual([expected, expected]);
    expect(Object.keys(details.spans[0].attributes).filter((key) => key.includes('body'))).toEqual([]);
  });

  it('show parents before their children where spans start at one time, and an event without a body by its name', async () => {
    const { client, sender } = await start();
    const root = serverSpan();
    const chain = Array.from({ length: 6 }, (_, index) => ({
      ...serverSpan(),
      name: `${index}`,
      kind: Span_SpanKind.INTERNAL,
    }));
    for (const [index, span] of chain.entries())
      Object.assign(span, {
        traceId: root.traceId,
        parentSpanId: (chain[index - 1] ?? root).spanId,
        startTimeUnixNano: root.startTimeUnixNano,
      });
    await sender.deliver('traces', traces([...chain.toReversed(), root]));
    const event = {
      traceId: root.traceId!,
      spanId: root.spanId!,
      timeUnixNano: root.startTimeUnixNano!,
      eventName: 'user.login',
    };
    await sender.deliver('logs', logs([event]));
    const { body: details } = await client.tenant.get(`request-logs/${buildUuid(root)}`);
    expect(details.spans.map(({ name }: { name: string }) => name)).toEqual([
      root.name,
      '0',
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
    expect(details.logs.map(({ message }: { message: string }) => message)).toEqual(['user.login']);
  });

  it('have an unknown time if they end before they begin, or did not end', async () => {
    const { client, sender } = await start();
    const begin = nanosecondsAgo(60_000);
    const bad = [begin - 1n, 0n].map((endTimeUnixNano) =>
      serverSpan({}, { startTimeUnixNano: begin, endTimeUnixNano }),
    );
    const whole = serverSpan({}, { startTimeUnixNano: begin, endTimeUnixNano: begin + 200_000_000n });
    await sender.deliver(
      'traces',
      traces([...bad, ...bad.map((span) => ({ ...span, spanId: randomBytes(8) })), whole]),
    );
    await service.collector.settle();
    const { data } = (await client.tenant.logs()) as unknown as { data: { response_time_ms: number }[] };
    const times = data.map(({ response_time_ms }) => response_time_ms);
    expect(times.sort()).toEqual([0, 0, 0, 0, 200]);
    const [row] = await client.tenant.metrics({
      since: '2025-01-01',
      metrics: ['requests', 'response_time_p50'],
    });
    expect(row).toMatchObject({ requests: 5 });
    expect((row as unknown as { response_time_p50: number }).response_time_p50).toBeCloseTo(200, -1);
  });

  it('have no body whose bytes are too many, however few its characters are', async () => {
    const { client, sender } = await start();
    const span = serverSpan({ 'apitally.request.body': '株'.repeat(40_000), 'apitally.response.body': '株' });
    await sender.deliver('traces', traces([span]));
    const { body } = await client.tenant.get(`request-logs/${buildUuid(span)}`);
    expect([body.request_body_json, body.response_body_json]).toEqual([
      JSON.stringify(BODY_TOO_LARGE),
      '"株"',
    ]);
  });

  it('are requests also where their names are those of single ASGI messages', async () => {
    const { client, sender } = await start();
    const [name, traceId] = ['POST /mail http send', randomBytes(16)];
    const server = serverSpan({}, { name, traceId });
    const message = { name, traceId, parentSpanId: server.spanId!, kind: Span_SpanKind.INTERNAL };
    await sender.deliver('traces', traces([server, serverSpan({}, message)]));
    const { body } = await client.tenant.get(`request-logs/${buildUuid(server)}`);
    expect(body.spans).toMatchObject([{ span_id: hex(server.spanId!) }]);
  });

  it('shows logs without a time of their own, of when they were observed', async () => {
    const { client, sender } = await start();
    const server = serverSpan();
    const record = {
      traceId: server.traceId!,
      spanId: server.spanId!,
      observedTimeUnixNano: nanosecondsAgo(59_000),
      body: { value: { case: 'stringValue' as const, value: 'observed' } },
    };
    await sender.deliver('logs', logs([record]));
    await sender.deliver('traces', traces([server]));
    const { body } = await client.tenant.get(`request-logs/${buildUuid(server)}`);
    expect(body.logs).toMatchObject([{ message: 'observed' }]);
  });

  it('shows spans and logs of its trace, in any order and message they came in, and those of no other request', async () => {
    const { client, sender } = await start();
    const traceId = randomBytes(16);
    const server = serverSpan({}, { traceId });
    const other = serverSpan({}, { traceId, parentSpanId: server.spanId! });
    const child = serverSpan(
      {},
      { traceId, kind: Span_SpanKind.CLIENT, name: 'SELECT', parentSpanId: server.spanId! },
    );
    child.attributes = attributes({
      big: 9007199254740993n,
      none: '',
      zero: 0,
      no: false,
      half: 0.5,
      huge: 1e20,
      list: ['a', 1],
      map: { inner: true },
      bytes: Buffer.from('hi'),
      binary: Buffer.from([0, 255]),
    });
    const grandchild = serverSpan(
      {},
      { traceId, kind: Span_SpanKind.INTERNAL, parentSpanId: child.spanId!, endTimeUnixNano: 2n ** 64n - 1n },
    );
    const below = serverSpan({}, { traceId, kind: Span_SpanKind.INTERNAL, parentSpanId: other.spanId! });
    const record = (spanId: Uint8Array, message: string) => ({
      traceId,
      spanId,
      timeUnixNano: nanosecondsAgo(59_000),
      severityNumber: SeverityNumber.WARN,
      body: { value: { case: 'stringValue' as const, value: message } },
      attributes: attributes({ 'code.file.path': 'app.js', 'code.line.number': 7 }),
    });
    await sender.deliver('logs', logs([record(grandchild.spanId!, 'mine'), record(below.spanId!, 'theirs')]));
    await sender.deliver('traces', traces([grandchild, below]));
    await sender.deliver('traces', traces([child, other]));
    await sender.deliver('traces', traces([server, child]));
    const { body, text } = await client.tenant.get(`request-logs/${buildUuid(server)}`);
    const ids = body.spans.map((span: { span_id: string }) => span.span_id).sort();
    expect(ids).toEqual([server, child, grandchild].map(({ spanId }) => hex(spanId!)).sort());
    expect(text).toContain(
      '{"big":9007199254740993,"none":"","zero":0,"no":false,"half":0.5,"huge":1e+20,"list":["a",1],"map":{"inner":true},"bytes":"hi","binary":"AP8="}',
    );
    expect(text).toContain(`"start_time_ns":${child.startTimeUnixNano}`);
    // A time that no clock has.
    expect(text).toContain(`"end_time_ns":${grandchild.startTimeUnixNano},"duration_ns":0`);
    expect(body.logs).toMatchObject([
      { message: 'mine', level: 'warn', logger: 'app.logger', file: 'app.js', line: 7 },
    ]);
    const found = await client.tenant.post('traces', {
      since: '2025-01-01',
      fields: ['span_id'],
      filters: [{ field: 'attributes', key: 'half', op: 'eq', value: 0.5 }],
    });
    expect(found.text).toContain(hex(child.spanId!));
  });

  it('shows the exception of a span below that failed with it, and none that was handled', async () => {
    const { client, sender } = await start();
    const server = serverSpan({ 'http.response.status_code': 500 });
    const { traceId, spanId } = server;
    const below = (type: string, code: Status_StatusCode) =>
      serverSpan(
        {},
        {
          traceId: traceId!,
          parentSpanId: spanId!,
          kind: Span_SpanKind.INTERNAL,
          status: { code },
          events: [{ name: 'exception', attributes: attributes({ 'exception.type': type }) }],
        },
      );
    await sender.deliver('traces', traces([server, below('Handled', Status_StatusCode.OK)]));
    const read = async () => (await client.tenant.get(`request-logs/${buildUuid(server)}`)).body.exception;
    expect(await read()).toBeNull();
    await sender.deliver('traces', traces([below('Fatal', Status_StatusCode.ERROR)]));
    expect(await read()).toMatchObject({ type: 'Fatal' });
  });

  it('shows the first thousand of its logs, to the microsecond', async () => {
    const { client, sender } = await start();
    const server = serverSpan();
    const { traceId, spanId } = server;
    const at = nanosecondsAgo(59_000);
    const records = Array.from({ length: 1_001 }, (_, index) => ({
      traceId: traceId!,
      spanId: spanId!,
      timeUnixNano: at + BigInt(index) * 1_000n,
      body: { value: { case: 'stringValue' as const, value: String(index) } },
    }));
    await sender.deliver('logs', logs(records));
    await sender.deliver('traces', traces([server]));
    const { body } = await client.tenant.get(`request-logs/${buildUuid(server)}`);
    expect(body.logs.map(({ message }: { message: string }) => Number(message))).toEqual([
      ...Array(1_000).keys(),
    ]);
    expect(body.logs[0].timestamp).toMatch(/\.\d{3}123\D/);
  });

  it('counts the same span once, in whichever messages it comes, and each at its sampling', async () => {
    const { client, sender } = await start();
    const sizes = { 'http.request.body.size': 100, 'http.response.body.size': 1_000 };
    const [first, second] = [serverSpan(sizes), serverSpan(sizes, { traceState: 'x=1,ot=th:e' })];
    await sender.deliver('traces', traces([first, first]));
    await sender.deliver('traces', traces([first, second]));
    await sender.deliver('traces', traces([first, second]));
    const names = ['requests', 'bytes_received', 'bytes_sent'];
    const rows = await client.tenant.metrics({ since: '2025-01-01', metrics: names });
    expect(rows).toMatchObject([{ requests: 1 + 8, bytes_received: 900, bytes_sent: 9_000 }]);
    expect((await client.tenant.logs()).data).toHaveLength(2);
  });

  it('finds events and attributes beside a number that the engine cannot hold', async () => {
    const { client, sender } = await start();
    const numbers = [5e19, -9.3e18, 1e20, 1e21, Number.MAX_VALUE];
    const spans = numbers.map((big) =>
      serverSpan(
        { big, 'a.key': 'x' },
        { events: [{ name: 'first' }, { name: 'big one', attributes: attributes({ big, small: 1 }) }] },
      ),
    );
    await sender.deliver('traces', traces(spans));
    // As libraries of version 0 send them; no double is as large as the last one.
    const digits = [
      '123456789012345678901234567890',
      '18446744073709551616',
      '-9223372036854775809',
      '1e400',
    ];
    const at = `${Date.now() - 60_000}000000`;
    const items = digits.map((big, n) =>
      JSON.stringify(
        buildLogItem({
          traceId: String(n + 1).repeat(32),
          spans: [
            {
              spanId: String(n + 1).repeat(16),
              name: 'v0',
              startTime: at,
              endTime: at,
              attributes: { 'a.key': 'x', big: 0 },
            },
          ],
        }),
      ).replace('"big":0', `"big":${big}`),
    );
    expect((await client.sendLog(items)).status).toBe(202);
    const find = async (...filters: object[]) => {
      const body = {
        since: new Date(Date.now() - 3_600_000).toISOString(),
        fields: ['attributes', 'events'],
        filters,
      };
      const { text } = await client.tenant.post('traces', body);
      return text.split('\n').slice(0, -1);
    };
    const all = numbers.length + digits.length;
    for (const [found, filter] of [
      [all, { field: 'attributes', key: 'a.key', op: 'eq', value: 'x' }],
      [all, { field: 'attributes', key: 'big', op: 'exists' }],
      [0, { field: 'attributes', key: 'big', op: 'not_exists' }],
      [6, { field: 'attributes', key: 'big', op: 'gt', value: 1 }],
      [numbers.length, { field: 'events', event_name: 'big one', op: 'exists' }],
      [digits.length, { field: 'events', event_name: 'big one', op: 'not_exists' }],
      [numbers.length, { field: 'events', event_name: 'first', op: 'exists' }],
      [digits.length, { field: 'events', key: 'big', op: 'not_exists' }],
      [numbers.length, { field: 'events', key: 'small', op: 'eq', value: 1 }],
      [1, { field: 'events', key: 'big', op: 'lt', value: -1 }],
      [0, { field: 'events', event_name: 'first', key: 'big', op: 'exists' }],
    ] as const)
      expect([filter, (await find(filter)).length]).toEqual([filter, found]);
    const lines = await find();
    for (const line of lines)
      expect(Array.isArray((JSON.parse(line) as { events: unknown }).events)).toBe(true);
    expect(lines.join()).not.toContain('\t');
    // All digits are there.
    expect(lines.join().replaceAll(/[.e+]/g, '')).toContain('12345678901234567890123456789');
  });

  it('counts a span as one request, with a warning, if its tracestate claims a weight beyond the limit', async () => {
    const { client, sender } = await start();
    const forged = serverSpan({}, { traceState: 'ot=th:ffffffffffffff' });
    const sampled = serverSpan({}, { traceState: 'ot=th:fff' });
    const { status, bytes } = await sender.send('traces', traces([forged, sampled]));
    expect([status, readResponse('traces', bytes).partialSuccess]).toMatchObject([
      200,
      {
        rejectedSpans: 0n,
        errorMessage: 'spans[].trace_state: stands for more than 10000 requests, counted as one',
      },
    ]);
    const rows = await client.tenant.metrics({ since: '2025-01-01', metrics: ['requests'] });
    expect(rows).toEqual([expect.objectContaining({ requests: 1 + 4096 })]);
    expect((await client.tenant.logs()).data).toHaveLength(2);
  });
});
