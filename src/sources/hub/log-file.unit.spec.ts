import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { BodyWork } from '../intake/body-work.js';
import { UnpackLimit } from '../intake/unpack-limit.js';
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
const MIB = 1024 * 1024;
function createWork(maxMs = Infinity): BodyWork {
  const work = new BodyWork(maxMs, new AbortController().signal);
  work.begin();
  return work;
}
const parse = (bytes: Buffer, limit = new UnpackLimit(64 * MIB, 1_000), work = createWork()) =>
  parseLogFile(bytes, UUID, { env: 'prod', now: NOW }, limit, work);
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
    const bomb = gzipSync(Buffer.alloc(256 * MIB));
    const before = process.memoryUsage().arrayBuffers;
    await expect(parse(bomb, new UnpackLimit(MIB, 10_000))).rejects.toMatchObject({
      detail: 'Payload too large',
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * MIB);
  });

  it('stops unpacking where it becomes too many times as much, but for little', async () => {
    const [small, large] = [MIB - 20, 2 * MIB].map((bytes) => gzipSync(Buffer.alloc(bytes, 'x')));
    const limit = new UnpackLimit(64 * MIB, 100);
    await expect(parse(small!, limit)).rejects.toThrow('body: line 1: item: must be valid JSON');
    await expect(parse(large!, limit)).rejects.toMatchObject({
      detail: 'Payload too large: unpacks to more than 100 times its size (COLLECTOR_MAX_UNPACK_RATIO)',
    });
  });

  it('gives the event loop back, and ends when its time is over', async () => {
    const lines = gzip(...Array.from({ length: 10_000 }, () => item()));
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    await parse(lines);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(2);
    await expect(parse(lines, undefined, createWork(10))).rejects.toMatchObject({
      detail: 'Payload too large: takes longer than 0.01 seconds (COLLECTOR_MAX_BODY_SECONDS)',
    });
  });
});
