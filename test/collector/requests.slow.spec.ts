import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Importer } from '../../src/sources/lines/files/importer.js';
import { eventually } from '../setup/eventually.js';
import { exchangeBytes, parseResponses } from '../setup/raw-http.js';
import { WITHOUT_CACHE } from '../setup/app.js';
import { Client, TestService } from './setup/collector.js';
import { buildLogItem } from './setup/messages.js';

const MIB = 1024 * 1024;
/** Longer than the ten seconds for which a body may wait for its sender. */
const SLOW_AFTER_MS = 13_000;
const SUMMARY = { read: 2, imported: 2, duplicates: 0, rejected: 0, logged: 2, reasons: [] };

let service: TestService;
let client: Client;
let token: string;

beforeAll(async () => {
  service = await TestService.start({
    ...WITHOUT_CACHE,
    COLLECTOR_MAX_REQUESTS_MB: '1',
    AUTH_FAILURES_PER_MINUTE: '1000000',
  });
});

afterAll(() => service.stop());

async function createApp(): Promise<[Client, string]> {
  const created = await service.tenant();
  return [created, (await service.api.admin.writeTokens.create(created.tenant.appId)).token];
}

let nth = 0;

/** A request; each is another one. */
function line(members: object = {}): string {
  const timestamp = new Date(Date.now() - 60_000 - nth++).toISOString();
  const url = 'https://shop.example.com/orders/1';
  return JSON.stringify({
    timestamp,
    method: 'GET',
    url,
    path: '/orders/{id}',
    status_code: 200,
    ...members,
  });
}

const lines = (count: number, members?: object) => Array.from({ length: count }, () => line(members));

async function send(body: string | Buffer, headers: Record<string, string> = {}, query = '') {
  const response = await fetch(`${service.collector.url}/v1/requests${query}`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

/** Begins a body and leaves it open. */
function begin(body: string | Buffer, of = token, headers: Record<string, string> = {}) {
  const outgoing = request(`${service.collector.url}/v1/requests`, {
    method: 'POST',
    headers: { authorization: `Bearer ${of}`, ...headers },
  });
  const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  // Of a request that its test breaks off.
  response.catch(() => undefined);
  outgoing.write(body);
  return { outgoing, response };
}

/** Begins a body with a request, and resolves once the service reads it. */
async function open(of: string) {
  const body = begin(`${line()}\n`, of);
  await eventually(async () => (await send('', { authorization: `Bearer ${of}` })).status === 429);
  return body;
}

/** Sends as slowly as a body may be sent; returns how to stop. */
function trickle(bodies: readonly { outgoing: ClientRequest }[]): () => void {
  const timer = setInterval(() => {
    for (const { outgoing } of bodies) outgoing.write(`${lines(80).join('\n')}\n`);
  }, 1_000);
  return () => {
    clearInterval(timer);
  };
}

const readLogs = async () => (await client.tenant.logs({ limit: 1000 })).data;

async function endAndRead({
  outgoing,
  response,
}: {
  outgoing: ClientRequest;
  response: Promise<[IncomingMessage]>;
}) {
  outgoing.end();
  const [incoming] = await response;
  incoming.resume();
  return incoming.statusCode;
}

describe('POST /v1/requests', () => {
  beforeEach(async () => {
    [client, token] = await createApp();
  });

  it('stores the requests of a body, and the same body again changes nothing', async () => {
    const body = lines(2, { consumer: 'acme', response_time_ms: 12 }).join('\n');
    expect(await send(body)).toMatchObject({ status: 200, body: SUMMARY });
    expect(await send(body)).toMatchObject({ status: 200, body: { imported: 0, duplicates: 2 } });
    expect(await readLogs()).toMatchObject([
      { env: 'prod', path: '/orders/{id}', consumer: 'acme', response_time_ms: 12 },
      { env: 'prod', path: '/orders/{id}', consumer: 'acme' },
    ]);
    const { data } = await client.tenant.traffic();
    expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
  });

  it('takes gzip, the environment and the name of the source', async () => {
    const body = gzipSync(`${lines(2).join('\n')}\n`);
    const gzip = { 'content-encoding': 'gzip' };
    expect(await send(body, gzip, '?env=staging&source=node-1')).toMatchObject({
      status: 200,
      body: SUMMARY,
    });
    expect(await send(body, gzip, '?env=staging&source=node-2')).toMatchObject({ body: { imported: 2 } });
    expect(await send(body, gzip, '?env=staging&source=node-2')).toMatchObject({ body: { duplicates: 2 } });
    // A question mark is a character of a query, and the last value of a repeated name counts (RFC 3986,
    // section 3.4).
    expect(await send(body, gzip, '?a?&env=prod&env=staging&source=node-2')).toMatchObject({
      body: { duplicates: 2 },
    });
    expect(new Set((await readLogs()).map(({ env }) => env))).toEqual(new Set(['staging']));
  });

  it('takes times as log shippers write them', async () => {
    const at = new Date(Date.now() - 60_000).toISOString().slice(0, 19);
    const body = [`${at}.123456789Z`, `${at}.123456Z`, `${at}+00:00`].map((timestamp) => line({ timestamp }));
    expect(await send(body.join('\n'))).toMatchObject({ status: 200, body: { imported: 3, rejected: 0 } });
  });

  it('takes another format of the file import where it is named', async () => {
    const time_iso8601 = new Date(Date.now() - 60_000).toISOString();
    const nginx = {
      time_iso8601,
      request_method: 'GET',
      request_uri: '/orders/7',
      status: '200',
      request_time: '0.2',
    };
    expect(await send(JSON.stringify(nginx), {}, '?format=nginx')).toMatchObject({ body: { imported: 1 } });
    expect(await readLogs()).toMatchObject([{ method: 'GET', response_time_ms: 200 }]);
  });

  describe('with parameters of the file import', () => {
    const query = (members: Record<string, string>) => `?${new URLSearchParams(members).toString()}`;
    const now = () => new Date(Date.now() - 60_000).toISOString();

    it('takes a log_format of nginx and a LogFormat of Apache', async () => {
      const at = now();
      const nginx = `203.0.113.7 [${at.slice(0, 19)}+00:00] "GET /nginx HTTP/1.1" 200 0.25`;
      const log_format = 'log_format timed $remote_addr [$time_iso8601] "$request" $status $request_time;';
      expect(await send(nginx, {}, query({ format: log_format }))).toMatchObject({ body: { imported: 1 } });
      const apache = `203.0.113.8 ${Date.parse(at)} "GET /apache HTTP/1.1" 404 1500`;
      const LogFormat = 'LogFormat "%h %{msec}t \\"%r\\" %>s %D" timed';
      expect(await send(apache, {}, query({ format: LogFormat }))).toMatchObject({ body: { imported: 1 } });
      const logs = await readLogs();
      expect(logs.sort((a, b) => (a.url < b.url ? -1 : 1))).toMatchObject([
        { url: '/apache', status_code: 404, response_time_ms: 2, client_ip: '203.0.113.8' },
        { url: '/nginx', status_code: 200, response_time_ms: 250, client_ip: '203.0.113.7' },
      ]);
    });

    it('takes JSON with names of its own, and only with them', async () => {
      const body = JSON.stringify({
        ts: now(),
        verb: 'PUT',
        req: { url: '/a' },
        res: { status: 201 },
        took: 5_000,
      });
      const map = 'timestamp=ts,method=verb,url=req.url,status_code=res.status,response_time_us=took';
      expect(await send(body)).toMatchObject({ status: 422 });
      expect(await send(body, {}, query({ map, base_url: 'https://api.example.com/v1/' }))).toMatchObject({
        body: { imported: 1 },
      });
      expect(await readLogs()).toMatchObject([
        { method: 'PUT', url: 'https://api.example.com/v1/a', status_code: 201, response_time_ms: 5 },
      ]);
    });

    it.each([
      ['', '162.158.62.29', null],
      ['false', '162.158.62.29', null],
      ['true', '8.8.8.8', 'bob'],
    ])(
      'takes the client of a CDN with trust_forwarded=%s as %s',
      async (trust_forwarded, client_ip, consumer) => {
        const time = new Date(Date.now() - 60_000)
          .toUTCString()
          .replace(/^\w+, (\d+) (\w+) (\d+) (\S+) GMT/, '$1/$2/$3:$4 +0000');
        const body = `162.158.62.29 - bob [${time}] "GET /cf HTTP/1.1" 200 5 "-" "curl/8" "8.8.8.8"`;
        const members = {
          format: 'combined',
          ...(trust_forwarded !== '' && { trust_forwarded }),
          ...(consumer !== null && { consumer_from: 'user' }),
        };
        expect(await send(body, {}, query(members))).toMatchObject({ body: { imported: 1 } });
        expect(await readLogs()).toMatchObject([{ client_ip, consumer }]);
      },
    );
  });

  it('recognizes the requests of a file import', async () => {
    const [first = '', second = ''] = lines(2);
    const options = { appId: client.tenant.appId, env: 'prod', source: '', now: Date.now() };
    const importer = new Importer(service.api.writer, options);
    await importer.add([{ number: 1, text: first }]);
    await importer.end();
    expect(await send(`${first}\n${second}`)).toMatchObject({ body: { imported: 1, duplicates: 1 } });
  });

  it('recognizes the requests that a client library logged', async () => {
    const item = buildLogItem();
    expect((await client.sendLog([item])).status).toBe(202);
    const body = [item.uuid, randomUUID()].map((request_uuid) => line({ request_uuid })).join('\n');
    expect(await send(body)).toMatchObject({ body: { imported: 1, duplicates: 1 } });
  });

  describe('with lines that a thread parses', () => {
    const LONG = 'x'.repeat(300_000);
    const now = () => new Date(Date.now() - 60_000).toISOString();

    it('reads them as it reads short lines, and recognizes them', async () => {
      const short = line({ consumer: 'acme', client_ip: 7, request_headers: [['x', 'token=secret']] });
      const long = short.replace('{', `{"more":"${LONG}",`);
      const response = await send([short, long, ' '.repeat(300_000), `{"more":"${LONG}`, short].join('\n'));
      expect(response).toMatchObject({
        status: 200,
        body: { read: 4, imported: 3, rejected: 1, ignored_members: { client_ip: 3 } },
      });
      expect(response.body.reasons).toEqual([
        { reason: expect.stringMatching(/^line: .*JSON/) as string, count: 1, lines: [4] },
      ]);
      const details = await Promise.all(
        (await readLogs()).map(({ request_uuid }) => client.tenant.get(`request-logs/${request_uuid}`)),
      );
      const [first, ...others] = details.map(({ body }) => ({ ...body, request_uuid: '' }));
      expect(first).toMatchObject({ consumer: 'acme', request_headers: [['x', 'token=******']] });
      expect(others).toEqual([first, first]);
      const options = { appId: client.tenant.appId, env: 'prod', source: '', now: Date.now() };
      const importer = new Importer(service.api.writer, options);
      await importer.add([short, long, short].map((text, index) => ({ number: index + 1, text })));
      expect(await importer.end()).toMatchObject({ imported: 0, duplicates: 3 });
    });

    it('reads them by what the lines before them say, and the lines after them', async () => {
      const entry = (agent: string) => `${now().slice(0, 19).replace('T', ' ')} GET /orders 200 ${agent}`;
      const fields = '#Fields: date time cs-method cs-uri-stem sc-status cs(User-Agent)';
      const body = [fields, entry('a'), entry(LONG), entry('b')].join('\n');
      expect(await send(body, {}, '?format=w3c')).toMatchObject({ body: { imported: 3, rejected: 0 } });
      const text = `${line({ more: LONG })}\n`;
      const split = [text.slice(0, 280_000), text.slice(280_000)].map((log) =>
        JSON.stringify({ log, time: now() }),
      );
      expect(await send(split.join('\n'))).toMatchObject({ body: { imported: 1, rejected: 0 } });
    });
  });

  it('stores the valid lines and returns why the others are rejected', async () => {
    const body = [line(), '{"method":"GET"}', 'no JSON', line({ client_ip: 7 }), '{"method":"GET"}', ''].join(
      '\n',
    );
    const response = await send(body);
    expect(response).toMatchObject({
      status: 200,
      body: { read: 5, imported: 2, rejected: 3, ignored_members: { client_ip: 1 } },
    });
    expect(response.body.reasons).toEqual([
      { reason: expect.stringContaining('timestamp') as string, count: 2, lines: [2, 5] },
      { reason: 'line: must be a JSON object', count: 1, lines: [3] },
    ]);
  });

  it('returns 200 for a body without lines', async () => {
    expect(await send('')).toMatchObject({ status: 200, body: { read: 0, imported: 0, reasons: [] } });
  });

  it('rejects other methods with 405', async () => {
    const response = await fetch(`${service.collector.url}/v1/requests`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('rejects the requests of a disabled app with 403', async () => {
    await service.api.store.command(
      `INSERT INTO apps_v1 SELECT * REPLACE (true AS disabled, now64(6) AS updated_at) FROM apps_v1 FINAL WHERE id = ${client.tenant.appId}`,
    );
    expect((await send(line())).status).toBe(403);
  });

  describe('a body beyond the limit', () => {
    const padded = () => line({ url: `https://shop.example.com/?${'x'.repeat(2_000)}` });
    const tooMany = () => Array.from({ length: 600 }, padded).join('\n');

    it('is rejected with 413 by its length, before it is read', async () => {
      const { response } = begin('', token, { 'content-length': String(MIB + 1) });
      const [{ statusCode }] = await response;
      expect(statusCode).toBe(413);
    });

    it('is rejected with 413 in chunks, and its first part is stored', async () => {
      const body = tooMany();
      const opened = begin(body.slice(0, MIB / 2));
      opened.outgoing.write(body.slice(MIB / 2));
      expect(await endAndRead(opened)).toBe(413);
      const stored = await readLogs();
      expect(stored.length).toBeGreaterThan(100);
      const half = body.split('\n').slice(0, 300).join('\n');
      expect((await send(half)).body).toMatchObject({ read: 300, rejected: 0 });
    });

    it('is rejected with 413 by its unpacked size', async () => {
      const gzip = { 'content-encoding': 'gzip' };
      expect((await send(gzipSync(tooMany()), gzip)).status).toBe(413);
      const bomb = gzipSync(Buffer.alloc(20 * MIB, '\n'));
      expect(bomb.length).toBeLessThan(MIB);
      expect((await send(bomb, gzip)).status).toBe(413);
    });
  });

  it('stores the lines before the end of a body that breaks off', async () => {
    const { outgoing } = begin(`${line()}\n${line()}\n{"method":`);
    await eventually(async () => (await send('')).status === 429);
    outgoing.destroy();
    await eventually(async () => (await readLogs()).length === 2);
  });

  it('stores the lines before the end of truncated gzip', async () => {
    const whole = gzipSync(lines(500).join('\n'));
    const response = await send(whole.subarray(0, whole.length - 100), { 'content-encoding': 'gzip' });
    expect(response.status).toBe(400);
    expect((await readLogs()).length).toBeGreaterThan(100);
  });

  it('responds on the same connection after a body that it stopped reading', async () => {
    const post = (body: string, headers: string) =>
      `POST /v1/requests HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`;
    const received = await exchangeBytes(
      service.collector.url,
      post('x'.repeat(MIB - 1), 'Content-Encoding: gzip\r\n') + post(line(), 'Connection: close\r\n'),
    );
    expect(parseResponses(received, ['POST', 'POST']).map(({ status }) => status)).toEqual([400, 200]);
  });

  it('rejects a second body of an app at once with 429, and not that of another app', async () => {
    const opened = await open(token);
    const second = await send(line());
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1']);
    const [, neighbour] = await createApp();
    expect((await send(line(), { authorization: `Bearer ${neighbour}` })).status).toBe(200);
    expect(await endAndRead(opened)).toBe(200);
  });

  it('ends the later body of a team that sends two for one of another team, not for a third of its own', async () => {
    const sibling = await client.tenant.sibling();
    const { token: siblings } = await service.api.admin.writeTokens.create(sibling.appId);
    const { appId } = await client.tenant.sibling();
    const { token: third } = await service.api.admin.writeTokens.create(appId);
    const [, neighbour] = await createApp();
    const first = await open(token);
    const second = await open(siblings);
    const stop = trickle([first, second]);
    try {
      expect((await send(line(), { authorization: `Bearer ${third}` })).status).toBe(503);
      expect((await send(line(), { authorization: `Bearer ${neighbour}` })).status).toBe(200);
      const [ended] = await second.response;
      expect([ended.statusCode, ended.headers['retry-after']]).toEqual([503, '1']);
      stop();
      expect(await endAndRead(first)).toBe(200);
      expect((await sibling.logs()).data.length).toBeGreaterThan(0);
    } finally {
      stop();
    }
  });

  it('ends a body whose sender is slow for one of a third team, not for a second one of a team', async () => {
    const { appId } = await client.tenant.sibling();
    const { token: siblings } = await service.api.admin.writeTokens.create(appId);
    const [, slow] = await createApp();
    const [, neighbour] = await createApp();
    const bodies = [await open(token), await open(slow)];
    const stop = trickle(bodies);
    try {
      const body = line();
      const sendAs = async (of: string) => (await send(body, { authorization: `Bearer ${of}` })).status;
      expect(await sendAs(neighbour)).toBe(503);
      await pause(SLOW_AFTER_MS);
      for (let count = 0; count < 3; count += 1) expect(await sendAs(siblings)).toBe(503);
      expect(await sendAs(neighbour)).toBe(200);
      const [ended, rest] = await Promise.race(
        bodies.map(async ({ response }, index) => [(await response)[0], bodies[1 - index]!] as const),
      );
      expect(ended.statusCode).toBe(503);
      stop();
      expect(await endAndRead(rest)).toBe(200);
    } finally {
      stop();
    }
  });

  it('rejects a body that stalls with 408, and its lines are stored', async () => {
    const { response } = begin(`${line()}\n`);
    const [{ statusCode }] = await response;
    expect(statusCode).toBe(408);
    expect(await readLogs()).toHaveLength(1);
  });
});

describe('a body of POST /v1/requests that is wrong', () => {
  beforeAll(async () => {
    [client, token] = await createApp();
  });

  it.each([
    [
      'no line that is valid',
      422,
      'no JSON\n{}',
      {},
      '',
      'line: must be a JSON object (line 1 of 2; all are rejected)',
    ],
    ['an invalid environment', 422, line(), {}, '?env=a%20b', /^env: must be 1 to 32 letters/],
    ['an environment that is not UTF-8', 422, line(), {}, '?env=%ff', /^env: must be percent-encoded UTF-8/],
    ['an invalid source', 422, line(), {}, `?source=${'x'.repeat(65)}`, /^source: must be 1 to 64/],
    ['an unknown format', 422, line(), {}, '?format=xml', /^format: must be one of ndjson, /],
    [
      'a format string without a status',
      422,
      line(),
      {},
      '?format=%24remote_addr%20%22%24request%22',
      /^format: .*status/,
    ],
    ['a map without an equals sign', 422, line(), {}, '?map=ts', /^map: /],
    ['a map of an unknown member', 422, line(), {}, '?map=colour=c', /^map: .*colour/],
    [
      'a map of a format that is not JSON',
      422,
      line(),
      {},
      '?map=url=u&format=combined',
      'map: has names of JSON, which the format is not',
    ],
    ['a map that is not UTF-8', 422, line(), {}, '?map=url=%ff', 'map: must be percent-encoded UTF-8'],
    [
      'another trust_forwarded',
      422,
      line(),
      {},
      '?trust_forwarded=yes',
      'trust_forwarded: must be true or false',
    ],
    ['another consumer_from', 422, line(), {}, '?consumer_from=host', 'consumer_from: must be user'],
    [
      'a base URL that is none',
      422,
      line(),
      {},
      '?base_url=ftp://a',
      /^base_url: must be an http or https URL/,
    ],
    ['another encoding', 415, line(), { 'content-encoding': 'br' }, '', /^Content-Encoding must be gzip/],
    ['bytes that are not gzip', 400, line(), { 'content-encoding': 'gzip' }, '', /^body: must be gzip/],
    ['gzip that is not named', 400, gzipSync(line()), {}, '', 'body: is gzip without Content-Encoding: gzip'],
    [
      'gzip in gzip',
      400,
      gzipSync(gzipSync(line())),
      { 'content-encoding': 'gzip' },
      '',
      'body: is gzip, twice',
    ],
    ['a JSON array', 422, `[${line()}]`, {}, '', /^line: belongs to a JSON array; .* in each line/],
    [
      'access logs without line feeds',
      422,
      '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5 "-" "-"'.repeat(2),
      {},
      '?format=combined',
      /^line: another request follows; each must end with a line feed/,
    ],
    ['no token', 401, line(), { authorization: '' }, '', /^Write token missing/],
    [
      'an unknown token',
      401,
      line(),
      { authorization: `Bearer apt_${'x'.repeat(24)}` },
      '',
      /^Write token unknown/,
    ],
  ])('rejects %s with %i', async (_, status, body, headers, query, detail) => {
    const response = await send(body, headers, query);
    expect(response.status).toBe(status);
    expect(response.body).toEqual({
      detail: typeof detail === 'string' ? detail : expect.stringMatching(detail),
    });
    expect(await readLogs()).toEqual([]);
  });
});
