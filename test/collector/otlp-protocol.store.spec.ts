import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { WITHOUT_CACHE } from '../setup/app.js';
import { Client, TestService } from './setup/collector.js';
import { GrpcSender } from './setup/grpc.js';
import {
  OtlpSender,
  type Signal,
  attributes,
  logs,
  metrics,
  nanosecondsAgo,
  readResponse,
  readStatus,
  resource,
  serverSpan,
  toOtlpJson,
  traces,
} from './setup/otlp.js';

const MIB = 1024 * 1024;
const SIGNALS: readonly Signal[] = ['traces', 'metrics', 'logs'];
const JSON_TYPE = { type: 'application/json' };

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start({
    ...WITHOUT_CACHE,
    COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0',
    COLLECTOR_MAX_OTLP_MB: '4',
    AUTH_FAILURES_PER_MINUTE: '1000000',
  });
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

const record = (text: string) => ({
  traceId: randomBytes(16),
  timeUnixNano: nanosecondsAgo(1_000),
  body: { value: { case: 'stringValue' as const, value: text } },
});

const gauge = (name: string) => ({
  name,
  data: {
    case: 'gauge' as const,
    value: {
      dataPoints: [{ timeUnixNano: nanosecondsAgo(0), value: { case: 'asDouble' as const, value: 0.5 } }],
    },
  },
});

const BODIES: Record<Signal, () => Buffer> = {
  traces: () => traces([serverSpan()]),
  metrics: () => metrics([gauge('process.cpu.utilization')]),
  logs: () => logs([record('hello')]),
};

async function countRequests(): Promise<number> {
  return (await client.tenant.logs({ limit: 1000 })).data.length;
}

describe('OTLP over HTTP', () => {
  it.each(SIGNALS)('returns 200 and an empty response in protobuf for %s in protobuf', async (signal) => {
    const { status, headers, bytes } = await sender.send(signal, BODIES[signal]());
    expect([status, headers.get('content-type'), bytes.length]).toEqual([200, 'application/x-protobuf', 0]);
    expect(headers.get('apitally-export-interval')).toBe('15');
  });

  it.each(SIGNALS)(
    'returns 200 and {} in JSON for %s in JSON, with IDs in hex of either case',
    async (signal) => {
      const body = JSON.stringify(toOtlpJson(signal, BODIES[signal]()));
      const { status, headers, bytes } = await sender.send(signal, body, {
        type: 'application/json; charset=utf-8',
      });
      expect([status, headers.get('content-type'), bytes.toString()]).toEqual([
        200,
        'application/json',
        '{}',
      ]);
      if (signal === 'traces') expect(await countRequests()).toBe(1);
    },
  );

  it.each(SIGNALS)('takes %s in gzip, in protobuf and in JSON', async (signal) => {
    const packed = await sender.send(signal, BODIES[signal](), { gzip: true });
    const json = JSON.stringify(toOtlpJson(signal, BODIES[signal]()));
    const packedJson = await sender.send(signal, json, { gzip: true, ...JSON_TYPE });
    expect([packed.status, packedJson.status]).toEqual([200, 200]);
    if (signal === 'traces') expect(await countRequests()).toBe(2);
  });

  it.each(SIGNALS)(
    'returns 200 for %s without any bytes, and for an empty message in JSON',
    async (signal) => {
      for (const [body, sending] of [
        [Buffer.alloc(0), {}],
        [Buffer.alloc(0), { gzip: true }],
        ['{}', JSON_TYPE],
        [Buffer.alloc(0), { headers: { 'content-encoding': 'gzip' } }],
      ] as const)
        expect((await sender.send(signal, body, sending)).status).toBe(200);
    },
  );

  it('rejects other types with 415, and other encodings', async () => {
    const types = await Promise.all(
      ['text/plain', 'application/protobuf', ''].map((type) =>
        sender.send('traces', BODIES.traces(), { type }),
      ),
    );
    expect(types.map(({ status }) => status)).toEqual([415, 415, 415]);
    const encoded = await sender.send('traces', BODIES.traces(), { headers: { 'content-encoding': 'br' } });
    expect([encoded.status, encoded.headers.get('content-type')]).toEqual([415, 'application/x-protobuf']);
    expect(readStatus(encoded.bytes)).toBe('Content-Encoding must be gzip, or left out');
  });

  it.each(SIGNALS)('rejects %s that cannot be decoded with 400 and a Status in kind', async (signal) => {
    const broken = await sender.send(signal, Buffer.from([0x0a, 0xff]));
    expect([broken.status, broken.headers.get('content-type')]).toEqual([400, 'application/x-protobuf']);
    expect(readStatus(broken.bytes)).toMatch(/^body: /);
    for (const text of ['{', '[]', 'null', '{"resourceSpans":7,"resourceMetrics":7,"resourceLogs":7}']) {
      const response = await sender.send(signal, text, JSON_TYPE);
      expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json']);
      expect(JSON.parse(response.bytes.toString())).toEqual({ message: expect.stringMatching(/^body: /) });
    }
    const notPacked = await sender.send(signal, BODIES[signal](), {
      headers: { 'content-encoding': 'gzip' },
    });
    expect([notPacked.status, readStatus(notPacked.bytes)]).toEqual([
      400,
      'body: must be gzip, as Content-Encoding says',
    ]);
  });

  it('rejects what is larger than the limit with 413, before and after it is unpacked', async () => {
    const body = traces([serverSpan({ filling: 'x'.repeat(4 * MIB) })]);
    expect((await sender.send('traces', body)).status).toBe(413);
    expect((await sender.send('traces', randomBytes(4 * MIB + 1))).status).toBe(413);
    const headers = { 'content-encoding': 'gzip' };
    const refusals = await Promise.all([
      sender.send('traces', gzipSync(Buffer.concat([body, randomBytes(MIB)])), { headers }),
      sender.send('traces', gzipSync(Buffer.alloc(2 * MIB)), { headers }),
      sender.send('traces', gzipSync(Buffer.alloc(200 * MIB)), { headers }),
    ]);
    const ratio = ': unpacks to more than 100 times its size (COLLECTOR_MAX_UNPACK_RATIO)';
    expect(refusals.map(({ status, bytes }) => [status, readStatus(bytes)])).toEqual([
      [413, 'Payload too large'],
      [413, `Payload too large${ratio}`],
      [413, 'Payload too large'],
    ]);
    expect(await countRequests()).toBe(0);
  });

  it('leaves out packed bodies of requests beyond the limit of the whole', async () => {
    const body = { 'apitally.request.body': gzipSync('x'.repeat(90_000)) };
    const spans = Array.from({ length: 100 }, () => serverSpan(body));
    await sender.deliver('traces', traces(spans));
    const [stored] = await service.api.store.rows<{ requests: number; left_out: number; characters: number }>(
      'test.bodies',
      `SELECT count() AS requests, countIf(position(captured_json, '<body too large>') > 0) AS left_out,
        sum(length(captured_json)) AS characters FROM request_details_v1 WHERE app_id = {app_id:UInt32}`,
      { app_id: client.tenant.appId },
    );
    expect(stored?.requests).toBe(100);
    expect(stored?.left_out).toBeGreaterThan(50);
    expect(stored?.left_out).toBeLessThan(60);
    expect(stored?.characters).toBeLessThan(4 * MIB);
  });

  it('rejects consumers of an error whose texts, once for each of them, are beyond the limit', async () => {
    const counts = Array.from({ length: 200 }, (_, index) => ({ consumer: `c${index}`, count: 1 }));
    const value = JSON.stringify({ method: 'GET', route: '/a', stacktrace: 'x'.repeat(60_000), counts });
    const event = {
      eventName: 'apitally.request.server_error',
      body: { value: { case: 'stringValue' as const, value } },
    };
    const { status, bytes } = await sender.send('logs', logs([event], { scope: 'apitally' }));
    expect(status).toBe(200);
    const [stored] = await service.api.store.rows<{ errors: number }>(
      'test.errors',
      'SELECT count() AS errors FROM errors_v1 WHERE app_id = {app_id:UInt32}',
      { app_id: client.tenant.appId },
    );
    expect(stored?.errors).toBe(69);
    expect(readResponse('logs', bytes).partialSuccess).toMatchObject({ rejectedLogRecords: 1n });
  });

  it('reads several messages one behind the other as one, and passes over fields that it does not know', async () => {
    const unknown = Buffer.concat([
      Buffer.from([0xfa, 0x3e, 3]),
      Buffer.from('new'),
      Buffer.from([0xc0, 0x3e, 1]),
    ]);
    const body = Buffer.concat([traces([serverSpan()]), unknown, traces([serverSpan()])]);
    expect((await sender.send('traces', body)).status).toBe(200);
    const json = toOtlpJson('traces', traces([serverSpan()]));
    const text = JSON.stringify({ ...json, future: { a: [1] } }).replaceAll('"kind"', '"later":[{}],"kind"');
    expect((await sender.send('traces', text, JSON_TYPE)).status).toBe(200);
    expect(await countRequests()).toBe(3);
  });

  it('keeps 64-bit integers exactly, as text and as numbers', async () => {
    const start = nanosecondsAgo(60_000);
    const span = serverSpan(
      { big: 9_007_199_254_740_993n },
      { startTimeUnixNano: start, endTimeUnixNano: start + 1n },
    );
    const text = JSON.stringify(toOtlpJson('traces', traces([span])));
    const asNumbers = text.replaceAll(/"(\d{16,})"/g, '$1');
    expect(asNumbers).not.toBe(text);
    expect((await sender.send('traces', asNumbers, JSON_TYPE)).status).toBe(200);
    const [{ request_uuid } = { request_uuid: '' }] = (await client.tenant.logs()).data;
    const details = await client.tenant.get(`request-logs/${request_uuid}`);
    expect(details.text).toContain(`"start_time_ns":${start},"end_time_ns":${start + 1n},"duration_ns":1,`);
    expect(details.text).toContain('"big":9007199254740993');
  });

  it.each(SIGNALS)('reads bytes of a text of %s that are not UTF-8 as U+FFFD', async (signal) => {
    // As many bytes as the text that they replace.
    const spoil = (bytes: Buffer) => {
      const at = bytes.indexOf('spoiled');
      expect(at).toBeGreaterThan(0);
      bytes.fill(0xff, at, at + 2);
      return bytes;
    };
    const bodies = {
      traces: () => traces([serverSpan({ 'user_agent.original': 'spoiled' }), serverSpan()]),
      metrics: () => metrics([gauge('spoiled'), gauge('process.cpu.utilization')]),
      logs: () => logs([record('spoiled'), record('hello')]),
    };
    const grpc = new GrpcSender(service.collector.grpcAddress, sender.token);
    await sender.deliver(signal, spoil(bodies[signal]()));
    const { code, bytes } = await grpc.send(signal, spoil(bodies[signal]()));
    grpc.close();
    expect([code, bytes.length]).toEqual(['OK', 0]);
    if (signal === 'traces') {
      expect(await countRequests()).toBe(4);
      const { text } = await client.tenant.post('traces', {
        since: new Date(Date.now() - 3_600_000),
        fields: ['attributes'],
      });
      expect(text).toContain('"user_agent.original":"\uFFFD\uFFFDoiled"');
    }
  });

  it.each(['//v1/traces', '/v1/traces/', '//v1//traces//?a=//'])(
    'takes traces at %s, as at /v1/traces, with the same headers',
    async (path) => {
      const answer = async (at: string) => {
        const { status, headers } = await fetch(`${service.collector.url}${at}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${sender.token}`, 'content-type': 'application/x-protobuf' },
          body: new Uint8Array(BODIES.traces()),
        });
        const { date: _, 'x-request-id': __, ...others } = Object.fromEntries(headers);
        return { status, others };
      };
      expect(await answer(path)).toEqual(await answer('/v1/traces'));
      expect(await countRequests()).toBe(2);
    },
  );

  it('says in a partial success how many were rejected and why, and takes the others', async () => {
    const bad = serverSpan({}, { traceId: randomBytes(4) });
    const response = await sender.send(
      'traces',
      traces([serverSpan(), bad, serverSpan({}, { spanId: Buffer.alloc(8) })]),
    );
    expect([response.status, readResponse('traces', response.bytes).partialSuccess]).toMatchObject([
      200,
      { rejectedSpans: 2n, errorMessage: 'spans[].trace_id: must be 16 bytes' },
    ]);
    expect(await countRequests()).toBe(1);
    const old = { ...record('old'), timeUnixNano: nanosecondsAgo(20 * 86_400_000) };
    const logged = await sender.send('logs', logs([record('new'), old]));
    expect(readResponse('logs', logged.bytes).partialSuccess).toMatchObject({ rejectedLogRecords: 1n });
    const histogram = { name: 'http.server.request.duration', data: gauge('x').data };
    const measured = await sender.send('metrics', metrics([histogram]));
    expect(readResponse('metrics', measured.bytes).partialSuccess).toMatchObject({ rejectedDataPoints: 1n });
  });

  it('changes nothing when a body comes again, packed or not, at once or later', async () => {
    const body = traces([serverSpan({ 'url.path': '/health' }), serverSpan()]);
    await Promise.all(Array.from({ length: 5 }, () => sender.deliver('traces', body)));
    expect((await sender.send('traces', body, { gzip: true })).status).toBe(200);
    const rows = await client.tenant.metrics({ since: '2025-01-01', metrics: ['requests'] });
    expect(rows).toMatchObject([{ requests: 2 }]);
  });

  it('returns 401 and a Status without a token, with another or a revoked one, and with that of a client', async () => {
    const without = await fetch(`${service.collector.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([without.status, without.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await without.json()).toEqual({ message: 'Write token missing: Authorization: Bearer apt_…' });
    const others = [`apt_${'a'.repeat(24)}`, 'apt_short', client.clientId, `${sender.token.slice(0, -1)}~`];
    for (const token of others) {
      const response = await new OtlpSender(service.collector.url, token).send('traces', BODIES.traces());
      expect([response.status, readStatus(response.bytes)]).toEqual([401, 'Write token unknown or revoked']);
    }
    const wrongSecret = sender.token.slice(0, -1) + (sender.token.endsWith('A') ? 'B' : 'A');
    expect((await new OtlpSender(service.collector.url, wrongSecret).send('traces', '')).status).toBe(401);
    await service.api.admin.writeTokens.revoke(client.tenant.appId, sender.token.slice(4, 12));
    expect((await sender.send('traces', BODIES.traces())).status).toBe(401);
    expect(await countRequests()).toBe(0);
  });

  it('returns 403 for an app that is disabled, and 405 for another method', async () => {
    await service.api.admin.apps.setDisabled(client.tenant.appId, true);
    expect((await sender.send('traces', BODIES.traces())).status).toBe(403);
    const got = await fetch(`${service.collector.url}/v1/traces`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('names the environment by the header, by the resource, and default without either', async () => {
    const named = (values: object) =>
      traces([serverSpan()], { of: { attributes: attributes({ 'service.name': 'x', ...values }) } });
    // In one body, as collectors of several processes send them.
    const older = named({ 'deployment.environment': 'older' });
    await sender.deliver('traces', Buffer.concat([named({}), older]));
    const both = { 'deployment.environment.name': 'Prod (EU)', 'deployment.environment': 'older' };
    await sender.deliver('traces', named(both));
    const body = named({ 'deployment.environment.name': 'other' });
    expect((await sender.send('traces', body, { headers: { 'Apitally-Env': 'dev' } })).status).toBe(200);
    const envs = (await client.tenant.logs()).data.map(({ env }) => env);
    expect(envs.sort()).toEqual(['Prod-EU-', 'default', 'dev', 'older'].sort());
  });

  it.each([
    ['traces', traces],
    ['metrics', metrics],
    ['logs', logs],
  ] as const)(
    'rejects %s of more than 10,000 instances with 400, and takes 10,000',
    async (signal, build) => {
      const instances = (count: number) =>
        Buffer.concat(
          Array.from({ length: count }, (_, n) =>
            build([], { of: resource({ 'service.instance.id': String(n) }) }),
          ),
        );
      const tooMany = await sender.send(signal, instances(10_001));
      expect([tooMany.status, readStatus(tooMany.bytes)]).toEqual([
        400,
        'body: must have at most 10000 instances',
      ]);
      expect((await sender.send(signal, instances(10_000))).status).toBe(200);
    },
  );

  it('rejects a body of millions of empty messages, and one that is nested too deeply', async () => {
    const empty = await sender.send('traces', Buffer.from('0a00'.repeat(2 * MIB - 1), 'hex'));
    const tooMany = 'Payload too large: has more than 50000 resources, scopes and spans';
    expect([empty.status, readStatus(empty.bytes)]).toEqual([413, tooMany]);
    const commas = await sender.send('traces', `{"resourceSpans":[{}${',{}'.repeat(MIB)}]}`, JSON_TYPE);
    expect([commas.status, JSON.parse(commas.bytes.toString())]).toEqual([413, { message: tooMany }]);
    let value: string | readonly unknown[] = 'x';
    for (let depth = 0; depth < 60; depth++) value = [value];
    const nested = await sender.send('traces', traces([serverSpan({ nested: value as never })]));
    expect([nested.status, readStatus(nested.bytes)]).toEqual([400, expect.stringContaining('recursion')]);
    const values = '{"arrayValue":{"values":[';
    const text = `{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":${values.repeat(700)}`;
    const deep = await sender.send('traces', `${text}${']}}'.repeat(700)}}]}}]}`, JSON_TYPE);
    expect(deep.status).toBe(400);
  });
});
