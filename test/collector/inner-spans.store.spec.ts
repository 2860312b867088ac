import { randomBytes } from 'node:crypto';
import { Span_SpanKind } from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { eventually } from '../setup/eventually.js';
import { Client, TestService } from './setup/collector.js';
import { OtlpSender, attributes, serverSpan, traces } from './setup/otlp.js';

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

describe('the consumer of a request that a span below it names', () => {
  const { INTERNAL } = Span_SpanKind;
  type Span = ReturnType<typeof serverSpan>;
  const inner = (above: Span, values: Record<string, string> = {}, kind = INTERNAL) =>
    serverSpan(values, {
      traceId: above.traceId,
      parentSpanId: above.spanId,
      kind,
      // What makes a SERVER span a request.
      attributes: attributes(values),
    });
  const readConsumers = async () =>
    (await client.tenant.logs({ limit: 10 })).data.map(({ url, consumer }) => [url, consumer]);
  const request = (path: string, values: Record<string, string> = {}, above?: Span) =>
    serverSpan(
      { 'url.path': path, ...values },
      above && { traceId: above.traceId, parentSpanId: above.spanId },
    );
  const url = (path: string) => `https://api.example.com${path}`;

  it('is that of the nearest span, in the same body and in whatever order', async () => {
    const [first, second] = [request('/one'), request('/two', { 'user.id': 'bob' })];
    const middleware = inner(first);
    const handler = inner(middleware, { 'user.id': 'alice' });
    const deeper = inner(handler, { 'user.id': 'mallory' });
    await sender.deliver('traces', traces([deeper, first, handler, middleware]));
    await sender.deliver('traces', traces([inner(second, { 'user.id': 'alice' }), second]));
    expect((await readConsumers()).sort()).toEqual([
      [url('/one'), 'alice'],
      [url('/two'), 'bob'],
    ]);
  });

  it('is that of a span in an earlier body, also where more than one body lies between', async () => {
    const root = request('/one');
    const middleware = inner(root);
    const handler = inner(middleware, { 'enduser.id': 'alice' });
    for (const span of [handler, middleware, root]) await sender.deliver('traces', traces([span]));
    expect(await readConsumers()).toEqual([[url('/one'), 'alice']]);
  });

  it('is that of the nearest of several spans in earlier bodies', async () => {
    const root = request('/one');
    const handler = inner(root, { 'user.id': 'alice' });
    const deeper = inner(handler, { 'user.id': 'mallory' });
    await sender.deliver('traces', traces([handler, deeper]));
    await sender.deliver('traces', traces([root]));
    expect(await readConsumers()).toEqual([[url('/one'), 'alice']]);
  });

  it('is that of a span in a later body that arrives while the request waits to be written', async () => {
    const root = request('/one');
    const middleware = inner(root);
    const sent: Promise<void>[] = [];
    await service.collector.holdBatches(async (countWaiting) => {
      for (const spans of [[root], [middleware], [inner(middleware, { 'user.id': 'alice' })]]) {
        sent.push(sender.deliver('traces', traces(spans)));
        await eventually(() => countWaiting() === sent.length);
      }
    });
    await Promise.all(sent);
    expect(await readConsumers()).toEqual([[url('/one'), 'alice']]);
    const { data } = await client.tenant.page<{ identifier: string }>('consumers');
    expect(data.map(({ identifier }) => identifier)).toEqual(['alice']);
  });

  it('is not that of another request below it, nor of another trace', async () => {
    const root = request('/one');
    const nested = request('/two', {}, root);
    const named = inner(nested, { 'user.id': 'alice' });
    const stranger = { ...inner(root, { 'user.id': 'bob' }), traceId: randomBytes(16) };
    await sender.deliver('traces', traces([named, nested, stranger, root]));
    expect((await readConsumers()).sort()).toEqual([
      [url('/one'), null],
      [url('/two'), 'alice'],
    ]);
  });

  it('ends where spans are above each other in a circle', async () => {
    const root = request('/one');
    const first = inner(root, { 'user.id': 'alice' });
    const second = inner(first);
    await sender.deliver('traces', traces([{ ...first, parentSpanId: second.spanId! }, second, root]));
    expect(await readConsumers()).toEqual([[url('/one'), null]]);
  });
});
