import { Client, TestService } from './setup/collector.js';
import { OtlpSender, attributes, logs, nanosecondsAgo, serverSpan, traces } from './setup/otlp.js';

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

const VALUES = {
  'order.id': 9_007_199_254_740_993n,
  'order.total': 1.5,
  items: ['a', 'b'],
  nested: { deep: true },
  password: 'hunter2-hunter2',
  'code.file.path': 'app.py',
  'code.line.number': 7,
};

async function deliver(values: Parameters<typeof attributes>[0]): Promise<void> {
  const { traceId, spanId, ...span } = serverSpan();
  const record = {
    traceId,
    spanId,
    timeUnixNano: nanosecondsAgo(59_000),
    body: attributes({ m: 'hello' })[0]!.value,
    attributes: attributes(values),
  };
  await sender.deliver('traces', traces([{ traceId, spanId, ...span }]));
  await sender.deliver('logs', logs([record]));
}

async function readLogs(query: Record<string, string> = {}): Promise<string> {
  const [{ request_uuid } = { request_uuid: '' }] = (await client.tenant.logs()).data;
  const { text } = await client.tenant.get(`request-logs/${request_uuid}`, query);
  return /"logs":(\[.*\]),"spans"/.exec(text)![1]!;
}

describe('the attributes of a log record', () => {
  it('are kept with their types, masked, and shown where they are asked for', async () => {
    await deliver(VALUES);
    expect(await readLogs({ include_log_attributes: 'true' })).toContain(
      '"logger":"app.logger","file":"app.py","line":7,"attributes":{"order.id":9007199254740993,"order.total":1.5,' +
        '"items":["a","b"],"nested":{"deep":true},"password":"******"}}',
    );
    expect(await readLogs()).toMatch(/"line":7}\]$/);
  });

  it('are an empty object where there are none, and are cut as those of spans', async () => {
    await deliver({});
    expect(await readLogs({ include_log_attributes: 'true' })).toMatch(/"line":null,"attributes":\{\}}\]$/);
    const record = { traceId: Buffer.alloc(16, 1), timeUnixNano: nanosecondsAgo(1_000) };
    const long = { ...record, attributes: attributes({ text: 'x'.repeat(65_537) }) };
    const { status } = await sender.send('logs', logs([long]));
    expect(status).toBe(200);
    await expect(sender.deliver('logs', logs([long, long]))).rejects.toThrow('log_records[].attributes');
  });
});
