import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Logger } from '@nestjs/common';
import { eventually } from '../setup/eventually.js';
import { exchangeBytes, exchangeOne, parseResponses } from '../setup/raw-http.js';
import type { ConsumerBody } from '../setup/tenant.js';
import { type Client, TestService } from './setup/collector.js';
import { logFile } from './setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';

const MIB = 1024 * 1024;
const RATE_LIMIT = 60;
const DAY_MS = 86_400_000;

const tallied = (responses: { status: number }[]) => {
  const tally: Record<number, number> = {};
  for (const { status } of responses) tally[status] = (tally[status] ?? 0) + 1;
  return tally;
};

describe('the collection interface', () => {
  let service: TestService;
  let client: Client;

  beforeAll(async () => {
    service = await TestService.start({
      COLLECTOR_RATE_LIMIT_PER_MINUTE: String(RATE_LIMIT),
      COLLECTOR_MAX_BODY_MB: '2',
      COLLECTOR_MAX_LOG_FILE_MB: '8',
      COLLECTOR_MAX_IN_FLIGHT_MB: '16',
      COLLECTOR_MAX_UNPACK_RATIO: '10000',
      AUTH_FAILURES_PER_MINUTE: '5',
    });
  });
  beforeEach(async () => {
    client = await service.tenant();
  });
  afterAll(() => service.stop());

  const requests = async (query = {}) => {
    const { data } = await client.tenant.traffic(query);
    return data.reduce((total, period) => total + period.requests, 0);
  };
  const logs = async () => (await client.tenant.logs({ limit: 1000 })).data;
  const app = async () => (await service.api.get('/v1/apps', client.tenant.key)).body.data[0];

  it.each([
    ['sync', 202],
    ['log', 422],
    ['nothing', 422],
  ])('carries a request ID, and a type that is not guessed: %s', async (kind, expected) => {
    const { status, headers } = await client.send(kind, buildSync());
    expect([status, headers.get('x-content-type-options')]).toEqual([expected, 'nosniff']);
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  });

  it('responds 400 to a message with two hosts', async () => {
    const hosts = 'Host: a.example\r\nHost: b.example\r\n';
    const bytes = `POST ${client.path('sync')} HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`;
    expect(await exchangeOne(service.collector.url, bytes)).toMatchObject({
      status: 400,
      text: '{"detail":"Bad Request"}',
      headers: { 'x-content-type-options': 'nosniff' },
    });
  });

  describe('202', () => {
    it('says that the message is accepted', async () => {
      const { status, body } = await client.send('sync', buildSync());
      expect([status, body]).toEqual([202, { status: 'accepted' }]);
    });

    it('startup registers endpoints in braces and learns the framework', async () => {
      const paths = [
        { method: 'get', path: '/users/:id' },
        { method: 'POST', path: '/users' },
      ];
      const startup = { message_uuid: randomUUID(), paths, versions: {}, client: 'python:fastapi' };
      expect((await client.send('startup', startup)).status).toBe(202);
      const { data } = (await client.tenant.get('endpoints')).body;
      expect(data.map(({ method, path }: { method: string; path: string }) => `${method} ${path}`)).toEqual([
        'POST /users',
        'GET /users/{id}',
      ]);
      expect(await app()).toMatchObject({
        framework: 'fastapi',
        envs: [{ name: 'prod', last_sync_at: null }],
      });
    });

    it('sync counts requests, by environment and consumer, in the quarter-hour of its timestamp', async () => {
      const consumers = [{ identifier: 'bob', name: 'Bob', group: 'Admins' }];
      const counts = [
        buildCount({ consumer: 'bob', request_count: 3, request_size_sum: 30, response_size_sum: 300 }),
        buildCount({ consumer: 'bob', request_count: 4, status_code: 500 }),
        buildCount({ request_count: 5 }),
      ];
      const timestamp = Date.now() / 1000 - 3_500;
      expect((await client.send('sync', buildSync({ timestamp, requests: counts, consumers }))).status).toBe(
        202,
      );
      expect((await client.send('sync', buildSync({ requests: [buildCount()] }), 'dev')).status).toBe(202);
      expect(await requests()).toBe(13);
      expect(await requests({ app_env_id: await client.tenant.envId('prod') })).toBe(12);
      expect(await requests({ consumer_id: await client.tenant.consumerId('bob') })).toBe(7);
      const { data } = await client.tenant.traffic({ app_env_id: await client.tenant.envId('prod') });
      expect(data).toMatchObject([{ bytes_received: 30, bytes_sent: 300 }]);
      expect(Date.parse(data[0]!.period_start)).toBe(Math.floor(timestamp / 3_600) * 3_600_000);
      const [bob] = (await client.tenant.consumers()).data as [ConsumerBody];
      expect(bob).toMatchObject({ identifier: 'bob', name: 'Bob', group: { name: 'Admins' } });
      expect(Date.parse(bob.last_request_at!)).toBe(Math.floor(timestamp * 1000));
      expect(await logs()).toEqual([]);
    });

    it('sync makes percentiles of its day less exact, if it has response times', async () => {
      const accuracy = async () => {
        const body = { since: '2025-01-01', metrics: ['response_time_p50'] };
        return (await client.tenant.post('metrics', body)).headers['x-percentile-accuracy'];
      };
      await client.send('sync', buildSync({ requests: [buildCount({ response_times: {} })] }));
      expect(await accuracy()).toBe('0.011 +1ms');
      for (let sent = 0; sent < 2; sent++) {
        expect((await client.send('sync', buildSync())).status).toBe(202);
        expect(await accuracy()).toBe('0.011 +6ms');
      }
    });

    it('sync makes percentiles of a window that ends as its day begins no less exact', async () => {
      const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
      await client.send('sync', buildSync({ timestamp: midnight / 1000 + 1 }));
      for (const [until, expected] of [
        [midnight, '0.011 +1ms'],
        [midnight + 60_000, '0.011 +6ms'],
      ] as const) {
        const window = { since: new Date(midnight - DAY_MS), until: new Date(until) };
        const body = { ...window, metrics: ['response_time_p50'] };
        const { headers } = await client.tenant.post('metrics', body);
        expect(headers['x-percentile-accuracy']).toBe(expected);
      }
    });

    it('sync without requests moves the time of the last sync, and adds no traffic', async () => {
      const before = Date.now();
      await client.send('sync', buildSync({ requests: [] }));
      const { envs } = await app();
      expect(Date.parse(envs[0].last_sync_at)).toBeGreaterThanOrEqual(before);
      expect((await client.tenant.traffic()).data).toEqual([]);
    });

    it('log adds to the logs and not to the traffic', async () => {
      const item = buildLogItem({
        request: { consumer: 'bob' },
        exception: { type: 'E', message: 'm', stacktrace: 's' },
      });
      expect((await client.sendLog([item])).status).toBe(202);
      expect(await logs()).toMatchObject([{ request_uuid: item.uuid, consumer: 'bob', path: '/users/{id}' }]);
      expect((await client.tenant.get(`request-logs/${item.uuid}`)).body.exception.type).toBe('E');
      expect(await requests()).toBe(0);
    });

    it('is for a log file with bad lines as well: the good ones are kept, the others counted', async () => {
      const response = await client.sendLog([buildLogItem(), '{"uuid":1}', 'no JSON', buildLogItem()]);
      expect([response.status, response.body.rejected]).toEqual([202, 2]);
      expect(await logs()).toHaveLength(2);
    });

    it('is for members that cannot be read as well: they alone are left out', async () => {
      const count = buildCount({ consumer: true, request_size_sum: -1 });
      const sync = await client.send('sync', buildSync({ requests: [count], consumers: 'bob' }));
      const item = buildLogItem({ request: { consumer: '', size: 2 ** 53 }, exception: { message: 'm' } });
      const log = await client.sendLog([item, buildLogItem({ traceId: 'x' })]);
      expect([sync, log]).toMatchObject(Array(2).fill({ status: 202, body: { status: 'accepted' } }));
      expect([sync.body.rejected, log.body.rejected]).toEqual([undefined, undefined]);
      expect([await requests(), (await logs()).length]).toEqual([1, 2]);
    });

    it('sync: a later name or group of a consumer takes the place of the one before', async () => {
      await client.send('sync', buildSync({ requests: [buildCount({ consumer: 'bob' })] }));
      await client.send(
        'sync',
        buildSync({ requests: [], consumers: [{ identifier: 'bob', name: 'Bob', group: 'A' }] }),
      );
      await client.send('sync', buildSync({ requests: [], consumers: [{ identifier: 'bob', group: 'B' }] }));
      const { data } = await client.tenant.consumers();
      expect(data).toMatchObject([{ identifier: 'bob', name: 'Bob', group: { name: 'B' } }]);
    });
  });

  describe('duplicates', () => {
    it('a message sent again changes nothing, at the same time or later', async () => {
      const sync = buildSync({ requests: [buildCount({ request_count: 7 })] });
      const responses = await Promise.all(Array.from({ length: 8 }, () => client.send('sync', sync)));
      responses.push(await client.send('sync', sync));
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 202));
      expect(await requests()).toBe(7);
    });

    it('a message UUID belongs to its app', async () => {
      const sync = buildSync();
      const other = await service.tenant();
      expect((await client.send('sync', sync)).status).toBe(202);
      expect((await other.send('sync', sync)).status).toBe(202);
      expect(await requests()).toBe(1);
      expect((await other.tenant.traffic()).data[0]?.requests).toBe(1);
    });

    it('a file sent again changes nothing, even with more in it', async () => {
      const uuid = randomUUID();
      const item = buildLogItem();
      await client.sendLog([item], uuid);
      expect((await client.sendLog([item, buildLogItem()], uuid)).status).toBe(202);
      expect(await logs()).toHaveLength(1);
    });

    it('an item is logged once, in whichever files it comes', async () => {
      const item = buildLogItem();
      await Promise.all([client.sendLog([item, item]), client.sendLog([item])]);
      await client.sendLog([buildLogItem(), item]);
      expect(await logs()).toHaveLength(2);
    });
  });

  describe('404', () => {
    it('is for a client ID that the store does not know, and nothing else', async () => {
      const path = `/v2/${randomUUID()}/prod/sync`;
      const response = await service.collector.post(path, JSON.stringify(buildSync()));
      expect([response.status, response.body]).toEqual([404, { detail: 'Client ID not found' }]);
    });

    it('is not for a kind of message that is not known: a library would switch itself off', async () => {
      expect((await client.send('profile', {})).status).toBe(422);
    });
  });

  describe('422', () => {
    const send = (kind: string, body: string, env?: string) =>
      service.collector.post(client.path(kind, env), body);

    it.each([
      ['sync', '{', 'body: must be valid JSON'],
      ['sync', '[]', 'body: must be an object'],
      ['sync', JSON.stringify(buildSync({ message_uuid: 'x' })), 'message_uuid: must be a UUID'],
      ['sync', JSON.stringify(buildSync({ timestamp: null })), 'timestamp: must be a number'],
      ['sync', JSON.stringify(buildSync({ timestamp: 1 })), 'timestamp: older than the 13 months'],
      [
        'sync',
        JSON.stringify(buildSync({ requests: [buildCount({ method: '' })] })),
        'requests[0].method: must be',
      ],
      ['startup', '{"message_uuid":"x"}', 'message_uuid: must be a UUID'],
      ['log', '', 'uuid: must be a UUID'],
      [`log?uuid=${randomUUID()}`, 'no JSON', 'body: line 1: item: must be valid JSON'],
    ])('is for what can never be accepted: %s %.40s', async (kind, body, detail) => {
      const response = await send(kind, body);
      expect([response.status, response.body.detail]).toEqual([422, expect.stringContaining(detail)]);
    });

    it('is for an environment that is no name', async () => {
      const response = await send('sync', JSON.stringify(buildSync()), 'pre.prod');
      expect([response.status, response.body.detail]).toEqual([422, expect.stringMatching(/^env: must be/)]);
    });

    it('leaves such an environment out of the log', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
      try {
        await send('sync', '{}', 'password=hunter2');
        const [line] = warn.mock.calls.map(String);
        expect(line).toMatch(/, -, sync: message rejected: env: must be/);
        expect(line).not.toContain('hunter2');
      } finally {
        warn.mockRestore();
      }
    });
  });

  describe('bounds', () => {
    it('413 for a body that is too long, with and without Content-Length', async () => {
      const body = JSON.stringify(buildSync({ server_errors: ['x'.repeat(3 * MIB)] }));
      const rejected = await service.collector.post(client.path('sync'), body);
      expect([rejected.status, rejected.body]).toEqual([413, { detail: 'Payload too large' }]);
    });

    it('413 for a file that unpacks to more than it may', async () => {
      const bomb = gzipSync(Buffer.alloc(512 * MIB, ' '));
      expect(bomb.length).toBeLessThan(MIB);
      const before = process.memoryUsage().rss;
      const response = await service.collector.post(`${client.path('log')}?uuid=${randomUUID()}`, bomb);
      expect(response.status).toBe(413);
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
    });

    it('429 for what is more than the share of one app, 503 for more than all may have, until it is less', async () => {
      const body = Buffer.alloc(45_000, 'x').toString('base64');
      const items = Array.from({ length: 60 }, () => buildLogItem({ request: { body } }));
      const post = (sender: Client) =>
        service.collector.post(`${sender.path('log')}?uuid=${randomUUID()}`, logFile(items));
      const senders = await Promise.all(Array.from({ length: 8 }, () => service.tenant()));
      const [ofOne, ofMany] = [Array.from({ length: 6 }, () => client), senders];
      const answersToOne = await Promise.all(ofOne.map(post));
      expect(tallied(answersToOne)).toEqual({ 202: expect.any(Number), 429: expect.any(Number) });
      const answersToMany = await Promise.all(ofMany.map(post));
      expect(tallied(answersToMany)).toEqual({ 202: expect.any(Number), 503: expect.any(Number) });
      for (const { status, headers } of [...answersToOne, ...answersToMany])
        expect(headers.get('retry-after')).toBe(status === 202 ? null : '1');
      expect((await post(client)).status).toBe(202);
    });

    it('429 for a log file that unpacks to more than the share of its app, unless it is the only message', async () => {
      const file = gzipSync('{}\n'.repeat(2 * MIB));
      const post = async (sender: Client) =>
        (await service.collector.post(`${sender.path('log')}?uuid=${randomUUID()}`, file)).status;
      expect(await post(client)).toBe(202);
      const stall = () => {
        const stalled = connect(Number(new URL(service.collector.url).port), '127.0.0.1');
        stalled.write(`POST ${client.path('sync')} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{`);
        return stalled;
      };
      // Which of the two comes first decides which one is refused.
      const stalled = await eventually(async () => {
        const first = stall();
        await pause(100);
        if ((await post(client)) === 429) return first;
        first.destroy();
        return undefined;
      });
      expect(await post(await service.tenant())).toBe(202);
      stalled.destroy();
      await eventually(async () => (await post(client)) === 202);
    });

    it('frees the place and the bytes of a message whose sender leaves before its turn', async () => {
      const file = logFile([buildLogItem(), ' '.repeat(3 * MIB)]);
      const body = JSON.stringify(buildSync()).padEnd(1.3 * MIB);
      const send = async () => (await service.collector.post(client.path('sync'), body)).status;
      const turn = service.collector.holdTurn((await app()).id);
      const waiting = connect(Number(new URL(service.collector.url).port), '127.0.0.1');
      const path = `${client.path('log')}?uuid=${randomUUID()}`;
      waiting.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${file.length}\r\n\r\n`);
      waiting.write(file);
      await eventually(() => turn.waiting === 1);
      expect(await send()).toBe(429);
      waiting.destroy();
      // Sooner than a message that waits is answered.
      await eventually(() => turn.waiting === 0, 3_000);
      const next = send();
      await eventually(() => turn.waiting === 1);
      turn.release();
      expect(await next).toBe(202);
      expect(await logs()).toEqual([]);
    });

    it('429 and Retry-After for more messages than a client ID may send in a minute', async () => {
      const other = await service.tenant();
      const startup = () => client.send('startup', { message_uuid: randomUUID() });
      const responses = await Promise.all(Array.from({ length: RATE_LIMIT + 5 }, startup));
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(5);
      expect(
        responses.every(({ status, headers }) => status === 202 || Number(headers.get('retry-after')) > 0),
      ).toBe(true);
      expect((await other.send('startup', { message_uuid: randomUUID() })).status).toBe(202);
    });

    it('503 for a message that does not wait for the response before it', async () => {
      const body = JSON.stringify(buildSync());
      const message = (connection: string) =>
        `POST ${client.path('sync')} HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const messages = message('keep-alive').repeat(3) + message('close');
      const responses = parseResponses(await exchangeBytes(service.collector.url, messages));
      const refused = { status: 503, headers: { 'retry-after': '1' } };
      expect(responses).toMatchObject([{ status: 202 }, refused, refused, refused]);
      expect(await requests()).toBe(1);
    });

    it('a connection that ends before its message does leaves nothing behind', async () => {
      const { port } = new URL(service.collector.url);
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(`POST ${client.path('sync')} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{"times`);
      await once(socket, 'ready');
      socket.destroy();
      expect((await client.send('sync', buildSync())).status).toBe(202);
      expect(await requests()).toBe(1);
    });
  });

  it('reports its own health', async () => {
    for (const probe of ['live', 'ready'])
      expect((await fetch(`${service.collector.url}/health/${probe}`)).status).toBe(200);
  });

  it('takes messages with POST alone', async () => {
    const response = await fetch(`${service.collector.url}${client.path('sync')}`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  // The last: from then on this address is not asked about new apps.
  it('responds 429 to who guesses client IDs, and takes what comes of an app that was never heard of', async () => {
    const guess = () => service.collector.post(`/v2/${randomUUID()}/prod/sync`, '{}');
    const responses = await Promise.all(Array.from({ length: 10 }, guess));
    const refused = responses.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await client.send('sync', buildSync())).status).toBe(202);
  });
});
