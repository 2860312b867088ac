import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { parseLogFile } from './log-file.js';

const NOW = Date.now();
const UUID = randomUUID();

const item = (members: object = {}) =>
  JSON.stringify({
    uuid: randomUUID(),
    request: { timestamp: NOW / 1000, method: 'GET', url: 'http://a/b', path: '/b' },
    response: { statusCode: 200, responseTime: 0.01 },
    ...members,
  });
const parse = (bytes: Buffer, take: (bytes: number) => void = () => undefined) =>
  parseLogFile(bytes, UUID, { env: 'prod', now: NOW }, { take });
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
  ])('refuses %s for good', async (_, bytes) => {
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
    expect(rejected).toMatchObject({
      count: 3,
      reason: expect.stringMatching(/^line 20001: there are more than/),
    });
  });

  it('stops unpacking as soon as it is too much', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024));
    let unpacked = 0;
    const take = (bytes: number) => {
      unpacked += bytes;
      if (unpacked > 1024 * 1024) throw new Error('too much');
    };
    await expect(parse(bomb, take)).rejects.toThrow('too much');
    expect(unpacked).toBeLessThan(8 * 1024 * 1024);
  });
});
