import { findRequestUuid } from '../../src/records/server-span.js';
import { Span_SpanKind } from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { buildLogItem } from './setup/messages.js';
import { Client, TestService } from './setup/collector.js';
import { OtlpSender, attributes, nanosecondsAgo, serverSpan, traces } from './setup/otlp.js';

type Span = ReturnType<typeof serverSpan>;

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

const hex = (id?: Uint8Array) => Buffer.from(id!).toString('hex');
const START = nanosecondsAgo(60_000);
const span = (name: string, kind: Span_SpanKind, above?: Span, values = {}) =>
  serverSpan(
    {},
    {
      name,
      kind,
      attributes: attributes(values),
      startTimeUnixNano: START,
      ...(above && { traceId: above.traceId, parentSpanId: above.spanId }),
    },
  );
const GRPC = { 'rpc.system': 'grpc', 'rpc.service': 'shop.Orders', 'rpc.method': 'Get' };

async function readTraces(body: object): Promise<{ name: string; kind: string }[]> {
  const { text } = await client.tenant.post('traces', { fields: ['name', 'kind'], ...body });
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { name: string; kind: string });
}

describe('a SERVER span that is no HTTP request, or a CONSUMER span', () => {
  it('is in Query Traces with all below it, under its name, and is no request', async () => {
    const rpc = span('shop.Orders/Get', Span_SpanKind.SERVER, undefined, GRPC);
    const query = span('SELECT orders', Span_SpanKind.CLIENT, rpc);
    const message = span('orders process', Span_SpanKind.CONSUMER, undefined, {
      'messaging.system': 'kafka',
    });
    const handler = span('handle', Span_SpanKind.INTERNAL, message);
    await sender.deliver('traces', traces([query, rpc, handler, message]));
    const since = '2025-01-01';
    const ofTrace = (of: Span) => [{ field: 'trace_id', op: 'eq', value: hex(of.traceId) }];
    const names = async (body: object) => (await readTraces(body)).map(({ name }) => name).sort();
    expect(await names({ filters: ofTrace(rpc) })).toEqual(['SELECT orders', 'shop.Orders/Get']);
    expect(await names({ filters: ofTrace(message) })).toEqual(['handle', 'orders process']);
    const byKind = { field: 'kind', op: 'in', value: ['SERVER', 'CONSUMER'] };
    expect(await names({ since, filters: [byKind] })).toEqual(['orders process', 'shop.Orders/Get']);
    const byAttribute = { field: 'attributes', key: 'rpc.service', op: 'eq', value: 'shop.Orders' };
    expect(await readTraces({ since, filters: [byAttribute] })).toMatchObject([
      { name: 'shop.Orders/Get', kind: 'SERVER' },
    ]);
    expect((await client.tenant.logs()).data).toEqual([]);
    expect((await client.tenant.traffic()).data).toEqual([]);
  });

  it('is in the details of the request above it with all below it, but no request is', async () => {
    const request = serverSpan({}, { name: 'GET /orders', startTimeUnixNano: START });
    const call = span('call', Span_SpanKind.CLIENT, request);
    const rpc = span('shop.Orders/Get', Span_SpanKind.SERVER, call, GRPC);
    const query = span('SELECT orders', Span_SpanKind.CLIENT, rpc);
    const other = serverSpan({}, { traceId: request.traceId, parentSpanId: rpc.spanId });
    const below = span('below', Span_SpanKind.INTERNAL, other);
    await sender.deliver('traces', traces([below, query, other, rpc, call, request]));
    const uuid = findRequestUuid(hex(request.traceId), hex(request.spanId), request.startTimeUnixNano!);
    const { body } = await client.tenant.get(`request-logs/${uuid}`);
    expect(body.spans.map(({ name }: Span) => name)).toEqual([
      'GET /orders',
      'call',
      'shop.Orders/Get',
      'SELECT orders',
    ]);
  });
});

it('shows parents before children that start at one time, also in the trace of a request without a span', async () => {
  const root = span('1', Span_SpanKind.INTERNAL);
  const spans = [root];
  for (let depth = 2; depth <= 9; depth++)
    spans.push(span(String(depth), Span_SpanKind.INTERNAL, spans.at(-1)));
  const item = buildLogItem({ traceId: hex(root.traceId) });
  await sender.deliver('traces', traces(spans.toReversed()));
  expect((await client.sendLog([item])).status).toBe(202);
  const { body } = await client.tenant.get(`request-logs/${item.uuid}`);
  expect(body.spans.map(({ name }: Span) => name).join('')).toBe('123456789');
});
