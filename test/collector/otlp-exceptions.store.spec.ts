import { randomBytes } from 'node:crypto';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { AppScopedStore } from '../../src/api/apps/app-scoped-store.js';
import { ExportRepository } from '../../src/api/request-logs/export/export.repository.js';
import { findRequestUuid } from '../../src/records/server-span.js';
import {
  Span_SpanKind,
  Status_StatusCode,
} from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { WITHOUT_CACHE } from '../setup/app.js';
import { callTool, connectClient, readRows } from '../setup/mcp.js';
import { Client, TestService } from './setup/collector.js';
import { GrpcSender } from './setup/grpc.js';
import {
  OtlpSender,
  type Signal,
  attributes,
  logs,
  nanosecondsAgo,
  serverSpan,
  toOtlpJson,
  traces,
} from './setup/otlp.js';

type Span = ReturnType<typeof serverSpan>;

const SINCE = '2025-01-01';
const FIELDS = ['exception_type', 'exception_message', 'exception_stacktrace'] as const;
const BOOM = { type: 'ValueError', message: 'boom', stacktrace: 'Traceback:\n  File "a/b.py", line 7' };

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start(WITHOUT_CACHE);
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

const hex = (id?: Uint8Array) => Buffer.from(id!).toString('hex');
const buildUuid = ({ traceId, spanId, startTimeUnixNano }: Span) =>
  findRequestUuid(hex(traceId), hex(spanId), startTimeUnixNano!);

const failing = (values: Parameters<typeof serverSpan>[0] = {}, overrides: Partial<Span> = {}) =>
  serverSpan({ 'http.response.status_code': 500, ...values }, overrides);

/** A span below another one. */
const below = ({ traceId, spanId }: Span, overrides: Partial<Span> = {}) =>
  serverSpan(
    {},
    { traceId, parentSpanId: spanId, kind: Span_SpanKind.INTERNAL, attributes: [], ...overrides },
  );

const toAttributes = ({ type, message, stacktrace }: Partial<typeof BOOM>) =>
  attributes({
    ...(type !== undefined && { 'exception.type': type }),
    ...(message !== undefined && { 'exception.message': message }),
    ...(stacktrace !== undefined && { 'exception.stacktrace': stacktrace }),
  });

/** A span that failed with an exception, which it recorded as an event. */
const failed = (above: Span, exception: Partial<typeof BOOM>, overrides: Partial<Span> = {}) =>
  below(above, {
    status: { code: Status_StatusCode.ERROR },
    events: [{ name: 'exception', attributes: toAttributes(exception) }],
    ...overrides,
  });

const record = ({ traceId, spanId }: Span, exception: Partial<typeof BOOM>, rest: object = {}) => ({
  traceId: traceId!,
  spanId: spanId!,
  timeUnixNano: nanosecondsAgo(59_000),
  eventName: 'http.server.request.exception',
  attributes: toAttributes(exception),
  ...rest,
});

/** The exception of a request in Request Details and in an export. */
async function readBoth(span: Span): Promise<unknown[]> {
  const request_uuid = buildUuid(span);
  const { body } = await client.tenant.get(`request-logs/${request_uuid}`);
  const { text } = await client.tenant.post('request-logs', {
    since: SINCE,
    // Its nanoseconds have more than 64 bits.
    until: '9999-12-31',
    fields: FIELDS,
    filters: [{ field: 'request_uuid', op: 'eq', value: request_uuid }],
  });
  const row = JSON.parse(text) as Record<(typeof FIELDS)[number], string | null>;
  const { type = null, message = null, stacktrace = null } = body.exception ?? {};
  return [
    { type, message, stacktrace },
    { type: row.exception_type, message: row.exception_message, stacktrace: row.exception_stacktrace },
  ];
}

const NONE = { type: null, message: null, stacktrace: null };
const both = (exception: object) => [exception, exception];

describe('an exception that comes as a log record', () => {
  const WAYS: Record<string, (signal: Signal, body: Buffer) => Promise<unknown>> = {
    protobuf: async (signal, body) => (await sender.send(signal, body, { gzip: true })).status,
    JSON: async (signal, body) => {
      const sent = JSON.stringify(toOtlpJson(signal, body));
      return (await sender.send(signal, sent, { type: 'application/json' })).status;
    },
    gRPC: async (signal, body) => {
      const grpc = new GrpcSender(service.collector.grpcAddress, sender.token);
      const { code } = await grpc.send(signal, body);
      grpc.close();
      return code;
    },
  };

  it.each(Object.keys(WAYS).flatMap((way) => ['before', 'after'].map((order) => [way, order] as const)))(
    'is the exception of its request: by %s, %s its span',
    async (way, order) => {
      const span = failing();
      const bodies: [Signal, Buffer][] = [
        ['logs', logs([record(span, BOOM)])],
        ['traces', traces([span])],
      ];
      for (const [signal, body] of order === 'before' ? bodies : bodies.reverse())
        expect([200, 'OK']).toContain(await WAYS[way]!(signal, body));
      expect(await readBoth(span)).toEqual(both(BOOM));
      const { body } = await client.tenant.get(`request-logs/${buildUuid(span)}`);
      // It stays a log record as well.
      expect(body.logs).toMatchObject([{ message: 'boom' }]);
    },
  );

  it('is found by filters and is in each format, and in whole records', async () => {
    const [span, other] = [failing(), failing()];
    await sender.deliver('traces', traces([span, other]));
    await sender.deliver('logs', logs([record(span, BOOM)]));
    const query = async (body: object) =>
      (await client.tenant.post('request-logs', { since: SINCE, ...body })).text;
    const findBy = async (field: string, op: string, value?: string) =>
      (await query({ filters: [{ field, op, value }] }))
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { request_uuid: string }).request_uuid);
    expect(await findBy('exception_type', 'eq', 'ValueError')).toEqual([buildUuid(span)]);
    expect(await findBy('exception_type', 'contains', 'error')).toEqual([buildUuid(span)]);
    expect(await findBy('exception_stacktrace', 'contains', 'b.py')).toEqual([buildUuid(span)]);
    expect(await findBy('exception_message', 'eq', 'boom')).toEqual([buildUuid(span)]);
    expect(await findBy('exception_type', 'is_null')).toEqual([buildUuid(other)]);
    const facets = await client.tenant.get('request-logs/facets', { field: 'exception_type', start: SINCE });
    expect(facets.body.data).toEqual([
      { value: 'ValueError', requests: 1 },
      { value: null, requests: 1 },
    ]);
    const filters = [{ field: 'exception_type', op: 'eq', value: 'ValueError' }];
    expect(await query({ fields: FIELDS, filters, format: 'csv' })).toContain(
      '"ValueError","boom","Traceback',
    );
    expect(await query({ filters, sample: 10 })).toContain(buildUuid(span));
    const scope = {
      teamId: client.tenant.teamId,
      appId: client.tenant.appId,
      excludedEndpointIds: [],
    } as never;
    const whole = new ExportRepository(new AppScopedStore(service.api.store)).createSource(scope, {
      format: 'ndjson',
      fields: 'whole',
      filters: [],
      window: { start: 0, end: Date.now() },
      scope,
    });
    const lines = (await whole.readPage({ after: undefined, last: undefined }, undefined)).toString();
    expect(lines).toContain(
      '"exception":{"type":"ValueError","message":"boom","stacktrace":"Traceback:\\n  File \\"a/b.py\\", line 7",' +
        '"tracker_event_id":null,"sentry_event_id":null},"logs":[]',
    );
    expect(
      lines
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { exception: unknown }).exception),
    ).toContain(null);
  });

  it('is that of the nearest span; of several the last one; behind what the span of the request recorded', async () => {
    const span = failing();
    const handler = below(span);
    const query = failed(handler, { type: 'Deep' });
    await sender.deliver('traces', traces([query, handler, span]));
    expect(await readBoth(span)).toEqual(both({ type: 'Deep', message: '', stacktrace: '' }));
    await sender.deliver('logs', logs([record(handler, { type: 'Handler', message: 'near' })]));
    expect(await readBoth(span)).toEqual(both({ type: 'Handler', message: 'near', stacktrace: '' }));
    const at = (ms: number, type: string) => record(span, { type }, { timeUnixNano: nanosecondsAgo(ms) });
    await sender.deliver('logs', logs([at(58_000, 'Last'), at(59_000, 'First')]));
    expect(await readBoth(span)).toEqual(both({ type: 'Last', message: '', stacktrace: '' }));
    const withEvent = failing({}, { events: [{ name: 'exception', attributes: toAttributes(BOOM) }] });
    await sender.deliver('logs', logs([record(withEvent, { type: 'Other' })]));
    await sender.deliver('traces', traces([withEvent, failed(withEvent, { type: 'Below' })]));
    expect(await readBoth(withEvent)).toEqual(both(BOOM));
  });

  it('is not that of another request of its trace, nor of one that it was handled in', async () => {
    const outer = failing();
    const inner = failing({}, { traceId: outer.traceId, parentSpanId: outer.spanId });
    const child = below(inner);
    const handled = failed(outer, { type: 'Handled' }, { status: { code: Status_StatusCode.OK } });
    await sender.deliver('traces', traces([child, inner, outer, handled]));
    await sender.deliver('logs', logs([record(child, BOOM)]));
    expect(await readBoth(inner)).toEqual(both(BOOM));
    expect(await readBoth(outer)).toEqual(both(NONE));
  });

  it('names the span of its request where a library says so; a server span that is no HTTP request is below one', async () => {
    const span = failing();
    const rpc = below(span, { kind: Span_SpanKind.SERVER, attributes: attributes({ 'rpc.system': 'grpc' }) });
    const named = record(
      { ...span, spanId: randomBytes(8) },
      {},
      {
        attributes: [
          ...toAttributes(BOOM),
          ...attributes({ 'apitally.request.server_span_id': hex(span.spanId) }),
        ],
      },
    );
    await sender.deliver('traces', traces([span, rpc, failed(rpc, { type: 'Rpc' })]));
    expect(await readBoth(span)).toEqual(both({ type: 'Rpc', message: '', stacktrace: '' }));
    await sender.deliver('logs', logs([named]));
    expect(await readBoth(span)).toEqual(both(BOOM));
  });

  it('is none that came more than a day after its request', async () => {
    const day = 86_400_000;
    const begin = nanosecondsAgo(3 * day);
    const span = failing({}, { startTimeUnixNano: begin, endTimeUnixNano: begin + 1_000_000n });
    await sender.deliver('traces', traces([span, failing()]));
    const at = (ms: number) => record(span, BOOM, { timeUnixNano: nanosecondsAgo(ms) });
    await sender.deliver('logs', logs([at(2 * day - 60_000)]));
    expect(await readBoth(span)).toEqual(both(NONE));
    await sender.deliver('logs', logs([at(2 * day + 60_000)]));
    expect(await readBoth(span)).toEqual(both(BOOM));
  });

  it('is in what agents read', async () => {
    const span = failing();
    await sender.deliver('traces', traces([span]));
    await sender.deliver('logs', logs([record(span, BOOM)]));
    const agent = await connectClient(service.api.url, { 'Api-Key': client.tenant.key });
    const { text } = await callTool(agent, 'get_request', { request_uuid: buildUuid(span) });
    expect(text).toContain('ValueError: boom');
    const filters = [{ field: 'exception_type', op: 'eq', value: 'ValueError' }];
    const found = await callTool(agent, 'search_requests', { fields: ['exception_message'], filters });
    expect(readRows(found)).toMatchObject([{ request_uuid: buildUuid(span), exception_message: 'boom' }]);
    await agent.close();
  });

  it('is masked and cut as that of a span', async () => {
    const secret = { message: 'password=hunter2-hunter2', stacktrace: 'at x?token=abcdefgh12345678' };
    const long = {
      type: 't'.repeat(300),
      message: `${'é'.repeat(2_047)}😀more`,
      stacktrace: 's'.repeat(65_600),
    };
    for (const exception of [{ type: 'E', ...secret }, long]) {
      const [span, event] = [failing(), failing({}, { events: [] })];
      event.events = [{ name: 'exception', attributes: toAttributes(exception) }];
      await sender.send('logs', logs([record(span, exception)]));
      await sender.send('traces', traces([span, event]));
      const [details, exported] = await readBoth(span);
      expect(JSON.stringify(details)).not.toMatch(/hunter2|abcdefgh/);
      expect(details).toEqual(exported);
      expect(await readBoth(event)).toEqual([details, details]);
    }
  });

  it('shows its name, or its type, if it says nothing else', async () => {
    const span = failing();
    const nothing = { attributes: [] };
    await sender.deliver('traces', traces([span]));
    await sender.deliver(
      'logs',
      logs([
        record(span, {}, { ...nothing, eventName: 'user.login', timeUnixNano: nanosecondsAgo(59_000) }),
        record(
          span,
          {},
          {
            attributes: attributes({ 'event.name': 'older.name' }),
            eventName: '',
            timeUnixNano: nanosecondsAgo(58_000),
          },
        ),
        record(span, { type: 'E' }, { eventName: '', timeUnixNano: nanosecondsAgo(57_000) }),
      ]),
    );
    const { body } = await client.tenant.get(`request-logs/${buildUuid(span)}`);
    expect(body.logs.map(({ message }: { message: string }) => message)).toEqual([
      'user.login',
      'older.name',
      'E',
    ]);
  });

  it('is shown to keys as that of a span is', async () => {
    const [acme, globex] = [failing({ 'user.id': 'acme' }), failing({ 'user.id': 'globex' })];
    globex.traceId = acme.traceId!;
    await sender.deliver('traces', traces([acme, globex]));
    await sender.deliver('logs', logs([record(acme, BOOM), record(globex, { type: 'Theirs' })]));
    const { teamId, appId } = client.tenant;
    const read = async (scopes: object, span: Span) => {
      const { key } = await service.api.admin.keys.create(teamId, { scopes: { ...ALL_SCOPES, ...scopes } });
      const path = `/v1/apps/${appId}/request-logs`;
      const details = await service.api.get(`${path}/${buildUuid(span)}`, key);
      const { text } = await service.api.post(path, key, { since: SINCE, fields: FIELDS });
      return [
        details.status,
        details.body.exception?.type,
        [...text.matchAll(/"exception_type":"(\w+)"/g)].length,
      ];
    };
    expect(await read({ hasBodies: false }, acme)).toEqual([200, 'ValueError', 2]);
    expect(await read({ appIds: [appId], consumer: 'acme' }, acme)).toEqual([200, 'ValueError', 1]);
    expect(await read({ appIds: [appId], consumer: 'acme' }, globex)).toEqual([404, undefined, 1]);
    const stranger = await service.tenant();
    await OtlpSender.create(service, stranger).then((theirs) =>
      theirs.deliver(
        'logs',
        logs([record(globex, { type: 'Forged' }, { timeUnixNano: nanosecondsAgo(1_000) })]),
      ),
    );
    expect(await readBoth(globex)).toEqual(both({ type: 'Theirs', message: '', stacktrace: '' }));
  });

  it('is found in traces that lead nowhere, and in large ones', async () => {
    const span = failing();
    const first = below(span);
    const second = below(first);
    const circle = { ...first, parentSpanId: second.spanId! };
    const manyParents = Array.from({ length: 20 }, () => ({ ...second, parentSpanId: randomBytes(8) }));
    await sender.deliver('traces', traces([circle, second, ...manyParents, span]));
    await sender.deliver('logs', logs([record(second, { type: 'Lost' })]));
    expect(await readBoth(span)).toEqual(both(NONE));
    const large = failing();
    const handler = below(large);
    const many = Array.from({ length: 5_000 }, (_, n) =>
      failed(
        handler,
        { type: `E${n}`, stacktrace: 's'.repeat(1_000) },
        { startTimeUnixNano: nanosecondsAgo(59_000 - n) },
      ),
    );
    await sender.deliver('traces', traces([large, handler, ...many]));
    expect(await readBoth(large)).toEqual(
      both({ type: 'E4999', message: '', stacktrace: 's'.repeat(1_000) }),
    );
  });
});

describe('an exception of a request that did not fail', () => {
  it('is neither in details nor in exports, in whichever way it came, and stays in the trace and the logs', async () => {
    for (const status of [200, 404]) {
      const values = { 'http.response.status_code': status };
      const event = failing(values, { events: [{ name: 'exception', attributes: toAttributes(BOOM) }] });
      const logged = failing(values);
      await sender.deliver('traces', traces([event, logged, failed(logged, { type: 'Below' })]));
      await sender.deliver('logs', logs([record(logged, BOOM)]));
      for (const span of [event, logged]) expect(await readBoth(span)).toEqual(both(NONE));
      const { text } = await client.tenant.get(`request-logs/${buildUuid(logged)}`, {
        include_log_attributes: 'true',
      });
      expect(text).toContain('"exception.stacktrace":"Traceback:');
    }
    const spans = await client.tenant.post('traces', {
      since: SINCE,
      fields: ['events'],
      filters: [{ field: 'events', key: 'exception.type', op: 'eq', value: 'ValueError' }],
    });
    expect(spans.text).toContain('exception.stacktrace');
  });
});
