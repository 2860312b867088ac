import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { LogFileTooLarge, parseLogFile } from './log-file.js';

const NOW = Date.now();
const UUID = randomUUID();

const item = (members: object = {}) =>
  JSON.stringify({
    uuid: randomUUID(),
    request: { timestamp: NOW / 1000, method: 'GET', url: 'http://a/b', path: '/b' },
    response: { statusCode: 200, responseTime: 0.01 },
    ...members,
  });
const parse = (bytes: Buffer, maxBytes = 64 * 1024 * 1024) =>
  parseLogFile(bytes, UUID, { env: 'prod', now: NOW }, maxBytes);
const gzip = (...lines: string[]) => gzipSync(lines.map((line) => `${line}\n`).join(''));

describe('parseLogFile', () => {
  it('reads gzip and, without it, plain lines', async () => {
    const line = item();
    const [packed, plain] = [await parse(gzip(line)), await parse(Buffer.from(line))];
    expect(packed).toMatchObject({ uuid: UUID, env: 'prod', rejected: { count: 0 } });
    expect(packed.logs).toHaveLength(1);
    expect(plain).toEqual(packed);
  });

  it('takes an empty file', async () => {
    expect(await parse(Buffer.alloc(0))).toMatchObject({ logs: [], rejected: { count: 0 } });
    expect(await parse(gzip())).toMatchObject({ logs: [], rejected: { count: 0 } });
  });

  it('keeps the good lines and counts the bad ones', async () => {
    const message = await parse(gzip(item(), 'x', item({ uuid: 1 }), '', item()));
    expect(message.logs).toHaveLength(2);
    expect(message.rejected).toMatchObject({ count: 2, reason: 'line 2: item: must be valid JSON' });
  });

  it('counts members that it cannot read apart from lines', async () => {
    const odd = item({ traceId: 7, exception: {} });
    const { logs, rejected } = await parse(gzip(odd, item(), odd));
    expect([logs.length, rejected.count]).toEqual([3, 0]);
    expect(Object.fromEntries(rejected.members)).toEqual({ trace_id: 2, exception: 2 });
  });

  it('takes a file of which it can keep nothing, so that it is not sent for ever', async () => {
    expect(await parse(gzip('{}', '{}'))).toMatchObject({ logs: [], rejected: { count: 2 } });
  });

  it('leaves out health checks without a word', async () => {
    const request = { timestamp: NOW / 1000, method: 'GET', url: 'http://a/healthz' };
    expect(await parse(gzip(item({ request })))).toMatchObject({ logs: [], rejected: { count: 0 } });
  });

  it.each([
    ['no JSON at all', Buffer.from('hello\nworld\n')],
    ['gzip that is damaged from the start', Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(50, 7)])],
  ])('rejects %s for good', async (_, bytes) => {
    await expect(parse(bytes)).rejects.toThrow(/^body: /);
  });

  it('keeps what comes before the damage', async () => {
    const random = () => item({ traceId: randomUUID().replaceAll('-', '') });
    const whole = gzip(...Array.from({ length: 2_000 }, random));
    const { logs, rejected } = await parse(whole.subarray(0, whole.length - 20_000));
    expect(logs.length).toBeGreaterThan(100);
    expect(rejected.count).toBeGreaterThan(0);
  });

  it('does not take more lines than a library writes', async () => {
    const line = item({ request: { timestamp: NOW / 1000, method: 'GET', url: 'http://a/live' } });
    const { rejected } = await parse(gzip(...Array.from({ length: 20_003 }, () => line)));
    expect(rejected).toMatchObject({ count: 1, reason: 'lines behind the first 20000' });
  });

  it('stops unpacking as soon as it is too much', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024));
    const before = process.memoryUsage().arrayBuffers;
    await expect(parse(bomb, 1024 * 1024)).rejects.toThrow(LogFileTooLarge);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });
});
