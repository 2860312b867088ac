import { gzipSync } from 'node:zlib';
import { WITHOUT_CACHE } from '../setup/app.js';
import { TestService } from './setup/collector.js';
import { buildSync } from './setup/messages.js';
import { OtlpSender, readStatus, serverSpan, traces } from './setup/otlp.js';

/** Spans whose secrets take most of a second to find. */
const EXPENSIVE_SPANS = 4;
const ATTRIBUTES = 50;
const SECRETS = 'token:"1",'.repeat(6_500);
/** The minute may end between two bodies. */
const [MAX_BODIES, MAX_TRIES] = [6, 4];

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({
    ...WITHOUT_CACHE,
    COLLECTOR_MAX_APP_SECONDS: '1',
    COLLECTOR_MAX_UNPACK_RATIO: '10000',
  });
});

afterAll(() => service.stop());

async function createApp() {
  const client = await service.tenant();
  const sender = await OtlpSender.create(service, client);
  return { client, token: sender.token, sender };
}

describe('an app whose bodies took more than COLLECTOR_MAX_APP_SECONDS of the minute', () => {
  it('gets 429 until the minute ends, by each way in, and others do not', async () => {
    const { client, token, sender } = await createApp();
    const other = await createApp();
    const values = Object.fromEntries(Array.from({ length: ATTRIBUTES }, (_, n) => [`a${n}`, SECRETS]));
    const expensive = traces(Array.from({ length: EXPENSIVE_SPANS }, () => serverSpan(values)));
    const spend = async () => {
      let answer = await sender.send('traces', expensive);
      for (let bodies = 1; answer.status === 200 && bodies < MAX_BODIES; bodies++)
        answer = await sender.send('traces', expensive);
      return answer;
    };
    // A minute may end between the two, and a new one has a budget of its own.
    const sendBeyond = async (send: () => Promise<{ status: number }>) => {
      let status = 0;
      for (let tries = 0; status !== 429 && tries < MAX_TRIES; tries++) {
        await spend();
        ({ status } = await send());
      }
      return status;
    };
    const refused = await spend();
    expect([refused.status, readStatus(refused.bytes)]).toEqual([429, 'Rate limit exceeded']);
    const retryAfter = Number(refused.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(60);
    const small = traces([serverSpan({})]);
    for (const send of [
      () => sender.send('traces', small),
      () => sendLines(token, '{}'),
      () => client.send('sync', buildSync()),
    ])
      expect(await sendBeyond(send)).toBe(429);
    expect((await other.sender.send('traces', small)).status).toBe(200);
    expect((await other.client.send('sync', buildSync())).status).toBe(202);
  });
});

describe('lines of /v1/requests', () => {
  it('are two million at most, blank ones included', async () => {
    const { token } = await createApp();
    const blank = (count: number) => gzipSync(Buffer.alloc(count, '\n'));
    expect(await sendLines(token, blank(2_000_001), { 'content-encoding': 'gzip' })).toEqual({
      status: 413,
      detail: 'Payload too large: has more than 2000000 lines',
    });
    expect((await sendLines(token, blank(1_999_999), { 'content-encoding': 'gzip' })).status).toBe(200);
  });

  it('are read no further where the first 100,000 are rejected', async () => {
    const { token } = await createApp();
    const { status, detail } = await sendLines(token, 'x\n'.repeat(150_000));
    expect([status, detail]).toEqual([
      422,
      expect.stringMatching(/^line: must be a JSON object \(line 1 of 1[0-4]\d{4}; all are rejected\)$/),
    ]);
  });
});

async function sendLines(token: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await fetch(`${service.collector.url}/v1/requests`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  const { detail } = (await response.json()) as { detail?: string };
  return { status: response.status, detail };
}
