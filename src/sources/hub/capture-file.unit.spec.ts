import { finish } from '../../shared/async/slices.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { findBin } from '../../records/bins.js';
import { BodyWork } from '../intake/body-work.js';
import { UnpackLimit } from '../intake/unpack-limit.js';
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
const LIMIT = new UnpackLimit(1024 * 1024, 100);
const WORK = new BodyWork(Infinity, new AbortController().signal);

const LESS_THAN_10_MS = ['time', findBin(0.005), 1];
const SENT_LESS_THAN_1_KB = ['sent', findBin(500), 1];

const encodeBody = ({ body }: Captured) => Buffer.from(JSON.stringify(body));

describe('the messages of a real library', () => {
  it('are read: sync', () => {
    const message = finish(parseSync(encodeBody(SYNC), CONTEXT));
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
        status_code: 200,
        requests: 1,
        bytes_received: 0,
        bytes_sent: 26,
        bins: [LESS_THAN_10_MS, SENT_LESS_THAN_1_KB],
      },
      {
        ...common,
        consumer: null,
        method: 'POST',
        path: '/users',
        status_code: 201,
        requests: 1,
        bytes_received: 27,
        bytes_sent: 8,
        bins: [LESS_THAN_10_MS, ['received', findBin(500), 1], SENT_LESS_THAN_1_KB],
      },
      {
        ...common,
        consumer: null,
        method: 'GET',
        path: '/boom',
        status_code: 500,
        requests: 1,
        bytes_received: 0,
        bytes_sent: 988,
        bins: [LESS_THAN_10_MS, SENT_LESS_THAN_1_KB],
      },
    ]);
    expect(message.instanceUuid).toBe('34a1cc8a-6137-4a55-b783-ca3d55184bfc');
    expect(message.errors).toMatchObject([
      { kind: 'server', method: 'GET', path: '/boom', type: 'TypeError', message: 'bad thing', errors: 1 },
    ]);
    expect(message.names.map(({ consumer }) => consumer)).toEqual([
      null,
      { identifier: 'bob@example.com', name: 'Bob', group: 'Admins' },
    ]);
  });

  it('are read: a sync with nothing in it', () => {
    const message = finish(parseSync(encodeBody(IDLE_SYNC), CONTEXT));
    expect(message).toMatchObject({ counts: [], logs: [], syncedAt: NOW, rejected: { count: 0 } });
    expect(message.report).toMatchObject({ cpu_percent: 0.7528704502461759, memory_rss: 78_643_200 });
  });

  it('are read: startup', () => {
    const message = finish(parseStartup(encodeBody(STARTUP), CONTEXT));
    expect(message).toMatchObject({
      framework: 'express',
      syncedAt: null,
      counts: [],
      report: {
        client: 'js:express',
        versions: { nodejs: '20.20.2', express: '5.3.0', apitally: '0.25.8', app: '1.2.3' },
      },
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
    const { logs, rejected } = await parseLogFile(gzipSync(lines), uuid, CONTEXT, LIMIT, WORK);
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
    const captured = JSON.parse(user.captured_json);
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
    expect(JSON.parse(boom.captured_json).exception).toMatchObject({
      type: 'TypeError',
      message: 'bad thing',
    });
  });
});
