import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parseLogFile } from './log-file.js';
import { parseStartup } from './startup.parser.js';
import { parseSync } from './sync.parser.js';

interface Captured {
  path: string;
  body: object;
}

/** Four messages as the JavaScript library sent them, in order: sync, startup, sync, log. */
const [SYNC, STARTUP, IDLE_SYNC, LOG] = readFileSync(
  join(process.cwd(), 'test/fixtures/hub-v2-messages.ndjson'),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Captured) as [Captured, Captured, Captured, Captured];
/** A minute after they were sent. */
const NOW = 1_795_220_221_000;
const CONTEXT = { env: 'prod', now: NOW };
const MAX_BYTES = 1024 * 1024;

const bytesOf = ({ body }: Captured) => Buffer.from(JSON.stringify(body));

describe('the messages of a real library', () => {
  it('are read: sync', () => {
    const message = parseSync(bytesOf(SYNC), CONTEXT);
    const common = { timestamp: 1_795_220_151_780, env: 'prod' };
    expect(message).toMatchObject({
      uuid: '0ddde971-5a5c-4215-9086-8a4e553a4448',
      rejected: { count: 0 },
      syncedAt: NOW,
    });
    expect(message.counts).toEqual([
      {
        ...common,
        consumer: { identifier: 'bob@example.com' },
        method: 'GET',
        path: '/users/{id}',
        requests: 1,
        bytes_received: 0,
        bytes_sent: 26,
      },
      {
        ...common,
        consumer: null,
        method: 'POST',
        path: '/users',
        requests: 1,
        bytes_received: 27,
        bytes_sent: 8,
      },
      {
        ...common,
        consumer: null,
        method: 'GET',
        path: '/boom',
        requests: 1,
        bytes_received: 0,
        bytes_sent: 988,
      },
    ]);
    expect(message.names.map(({ consumer }) => consumer)).toEqual([
      null,
      { identifier: 'bob@example.com', name: 'Bob', group: 'Admins' },
    ]);
  });

  it('are read: a sync with nothing in it', () => {
    const message = parseSync(bytesOf(IDLE_SYNC), CONTEXT);
    expect(message).toMatchObject({ counts: [], logs: [], syncedAt: NOW, rejected: { count: 0 } });
  });

  it('are read: startup', () => {
    const message = parseStartup(bytesOf(STARTUP), CONTEXT);
    expect(message).toMatchObject({
      framework: 'express',
      syncedAt: null,
      counts: [],
      rejected: { count: 0 },
    });
    expect(message.names.slice(1).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /users/{id}',
      'POST /users',
      'GET /boom',
    ]);
  });

  it('are read: log', async () => {
    const lines = (LOG.body as object[]).map((item) => `${JSON.stringify(item)}\n`).join('');
    const uuid = 'e1b1ccce-f4b7-412b-8240-8a934c086462';
    const { logs, rejected } = await parseLogFile(gzipSync(lines), uuid, CONTEXT, MAX_BYTES);
    expect(rejected.count).toBe(0);
    expect(logs.map(({ path, status_code }) => [path, status_code])).toEqual([
      ['/users/{id}', 200],
      ['/users', 201],
      ['/boom', 500],
      [null, 404],
    ]);
    const [user, , boom] = logs as [(typeof logs)[0], unknown, (typeof logs)[0]];
    expect(user).toMatchObject({
      request_uuid: '63d524d0-e69c-47aa-818c-ab3ada75b277',
      timestamp: 1_795_220_151_321,
      consumer: { identifier: 'bob@example.com' },
      url: 'http://127.0.0.1:9912/users/7?token=******&x=1',
      request_size_bytes: null,
      response_size_bytes: 26,
      response_time_ms: 6,
      client_ip: null,
    });
    const captured = JSON.parse(user.capture);
    expect(captured).toMatchObject({ response_body_json: '{"ok":true,"password":"******"}', trace_id: null });
    expect(captured.logs).toEqual([
      {
        timestamp: '2026-11-21T00:15:51.315000Z',
        message: 'handling',
        level: 'log',
        logger: 'console',
        file: null,
        line: null,
      },
    ]);
    expect(JSON.parse(boom.capture).exception).toMatchObject({ type: 'TypeError', message: 'bad thing' });
  });
});
