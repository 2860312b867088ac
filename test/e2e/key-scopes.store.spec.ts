import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Client } from '@modelcontextprotocol/client';
import { ALL_SCOPES, type KeyScopes, OPERATIONS, type OperationId } from '../../src/platform/http/account.js';
import { EXPORT_FIELDS } from '../../src/api/request-logs/export/export.input.js';
import { TestApp } from '../setup/app.js';
import { AUTHENTICATED_HEADERS, detail, seen } from '../setup/contract.js';
import { findRequestUuid } from '../../src/records/server-span.js';
import { EVENT_SEPARATOR } from '../../src/records/capture.js';
import { readHar } from '../setup/har.js';
import { callTool, connectClient, readRows } from '../setup/mcp.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { type LogBody, Tenant } from '../setup/tenant.js';

const HOUR = 3_600_000;
/** Most tests use a key often; those that change what a key may read wait until the cache has it no more. */
const CACHE_MS = 500;
const waitForCache = () => sleep(CACHE_MS);
const SECRET = 'only-in-headers-and-bodies';
/** Names of attributes of spans that hold headers, metadata of RPC, or bodies. */
const CAPTURED_ATTRIBUTES = [
  'http.request.header.x-secret',
  'HTTP.Request.Header.x-up',
  'http.request.header.a\nb',
  'http.request.header.size',
  'http.request.headers',
  'http.request_headers',
  'http.request.body',
  'http.request.body.content',
  'http.request_body',
  'http.response.body',
  'http.response_body.text',
  'http.request',
  'apitally.response.headers.x',
  'apitally.request.body',
  'rpc.request.metadata.x-secret',
  'rpc.grpc.request.metadata.x-secret',
  'rpc.grpc.response.metadata.x-secret',
  'rpc.connect_rpc.request.metadata.x-secret',
  'rpc.connect_rpc.response.metadata.x-secret',
];
/** What a key without bodies sees of these attributes. */
const SHOWN = '"http.request.body.size":12345678901234567,"http.response_body_size":7,"a\\"b":1';
const iso = (epochMs: number) => new Date(epochMs).toISOString();
const hex = (id: number, digits: number) => id.toString(16).padStart(digits, '0');

const capture = (trace: number) =>
  JSON.stringify({
    request_headers: [['x-secret', SECRET]],
    response_headers: [['x-secret', SECRET]],
    request_body_json: `"${SECRET}"`,
    response_body_json: `"${SECRET}"`,
    trace_id: hex(trace, 32),
    exception: null,
    logs: [],
    spans: [],
  });

let directory: string;
let auditFile: string;
let app: TestApp;
let tenant: Tenant;
let sibling: Tenant;
let full: string;
let acme: { id: number; uuids: string[] };
let foreignUuid: string;
const since = iso(Date.now() - 40 * HOUR);

const keyWith = async (scopes: Partial<KeyScopes>) =>
  (await app.admin.keys.create(tenant.teamId, { scopes: { ...ALL_SCOPES, ...scopes } })).key;
const OF_ACME = () => ({ appIds: [tenant.appId], consumer: 'acme' });
const body = (text: string) => JSON.parse(text) as { data: Record<string, unknown>[]; next_token?: string };

/** One request to each operation. */
function requestEach(appId: number): Record<OperationId, [path: string, body?: object]> {
  const of = `/v1/apps/${appId}`;
  return {
    getTeam: ['/v1/team'],
    listApps: ['/v1/apps'],
    listEndpoints: [`${of}/endpoints`],
    listConsumers: [`${of}/consumers`],
    getRequestLogs: [`${of}/request-logs`],
    getRequestDetails: [`${of}/request-logs/${acme.uuids[0]}`],
    exportRequestLogs: [`${of}/request-logs`, { since }],
    getTraffic: [`${of}/traffic`],
    queryMetrics: [`${of}/metrics`, { since, metrics: ['requests'] }],
    queryTraces: [`${of}/traces`, { since }],
    explainChange: [`${of}/changes`, { measure: 'requests', since }],
    queryErrors: [`${of}/errors`, { since }],
    listInstances: [`${of}/instances`],
    listReleases: [`${of}/releases`],
    listAlerts: [`${of}/alerts`],
    getPrometheusMetrics: [`${of}/prometheus`],
    getRequestLogFacets: [`${of}/request-logs/facets?field=path`],
  };
}

const send = (key: string, path: string, json?: object) =>
  json === undefined ? app.get(path, key) : app.post(path, key, json);

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'key-scopes-'));
  auditFile = join(directory, 'audit.log');
  app = await TestApp.start({ CACHE_TTL_MS: String(CACHE_MS), AUDIT_READS: 'on', AUDIT_LOG: auditFile });
  tenant = await Tenant.create(app);
  sibling = await tenant.sibling();
  full = tenant.key;
  const consumers = ['acme', 'globex', null];
  const records = await tenant.write(
    ...Array.from({ length: 90 }, (_, n) => {
      const identifier = consumers[n % 3];
      return {
        timestamp: Date.now() - n * (n % 7 === 0 ? 1_234_567 : 617_283),
        env: n % 4 === 0 ? 'test' : 'prod',
        consumer: identifier ? { identifier, name: identifier, group: 'customers' } : null,
        method: n % 5 === 0 ? 'POST' : 'GET',
        path: identifier === 'globex' && n % 2 === 0 ? '/only/globex' : `/items/${n % 7}`,
        status_code: [200, 404, 500][n % 4] ?? 201,
        response_time_ms: n,
        // Traces 1 to 9 are of one request each; in trace 10, both consumers have requests.
        captured_json: capture(n < 9 ? n + 1 : 10),
      };
    }),
  );
  const listUuids = (identifier: string) =>
    records
      .filter(({ consumer }) => consumer?.identifier === identifier)
      .map(({ request_uuid }) => request_uuid);
  acme = { id: await tenant.consumerId('acme'), uuids: listUuids('acme') };
  foreignUuid = listUuids('globex')[0]!;
  await sibling.write({ consumer: { identifier: 'acme', name: 'acme', group: 'customers' } });
  const app_env_id = await tenant.envId('prod');
  const spans = Array.from({ length: 11 }, (_, index) => ({
    app_id: tenant.appId,
    app_env_id,
    start_time_ns: String(BigInt(Date.now() - 30_000) * 1_000_000n + BigInt(index)),
    duration_ns: '1500000001',
    trace_id: hex(index + 1, 32),
    span_id: hex(index + 1, 16),
    parent_span_id: '',
    name: 'GET /items',
    kind: 'CLIENT',
    status: 'UNSET',
    scope_name: '',
    scope_version: '',
    attributes: `{${CAPTURED_ATTRIBUTES.map((name) => `${JSON.stringify(name)}:["${SECRET}"],`).join('')}${SHOWN}.0}`,
    events: `[${[
      { timestamp: '2026-11-20T00:00:00Z', name: 'one', attributes: {} },
      ...CAPTURED_ATTRIBUTES.flatMap((name) => [
        { timestamp: '2026-11-20T00:00:01Z', name: 'two', attributes: { [name]: SECRET } },
        { timestamp: '2026-11-20T00:00:01Z', name, attributes: { body: SECRET } },
      ]),
    ]
      .map((event) => JSON.stringify(event))
      .join(EVENT_SEPARATOR)}]`,
  }));
  await app.store.insert(
    'logged_spans',
    spans.map((span) => JSON.stringify(span)),
  );
});

afterAll(async () => {
  closeConnections();
  await app.stop();
  rmSync(directory, { recursive: true });
});

describe('a key with operations', () => {
  it.each(OPERATIONS)('returns %s alone, and 403 for each other operation', async (allowed) => {
    const key = await keyWith({ operations: [allowed] });
    for (const [id, [path, json]] of Object.entries(requestEach(tenant.appId))) {
      const response = await send(key, path, json);
      const expected = id === allowed ? 200 : 403;
      expect([id, response.status]).toEqual([id, expected]);
      if (expected === 403)
        expect(seen(response)).toEqual({
          status: 403,
          text: detail(`This API key does not allow ${id}`),
          // By which a program tells it from the 403 of a plan.
          headers: { ...AUTHENTICATED_HEADERS, 'www-authenticate': 'APIKey error="insufficient_scope"' },
        });
    }
  });

  it('returns 403 on every other way to an operation, before it looks at the request', async () => {
    const key = await keyWith({ operations: ['getTeam'] });
    const at = `/v1/apps/${tenant.appId}`;
    for (const [method, path] of [
      ['HEAD', `${at}/traffic`],
      ['POST', `${at}/request-logs/stream`],
      ['GET', `${at}/request-logs?limit=0&next_token=x`],
      ['GET', '/v1/apps/x/consumers'],
      ['GET', `/v1/apps/2000000000/endpoints`],
      ['GET', `//v1/apps`],
      ['GET', `${at}/traffic/`],
    ] as const) {
      const { status } = await sendRaw(app.url, path, { method, headers: { 'Api-Key': key } });
      expect([path, [403, 404]]).toEqual([path, expect.arrayContaining([status])]);
      const free = await sendRaw(app.url, path, { method, headers: { 'Api-Key': full } });
      // What is 404 for this key is no path for any key.
      if (status === 404) expect([path, free.status]).toEqual([path, 404]);
    }
  });

  it('limits the tools of agents in the same way', async () => {
    const key = await keyWith({ operations: ['listApps', 'getRequestLogs'] });
    const client = await connectClient(app.url, { 'Api-Key': key });
    const app_name = String(tenant.appId);
    for (const [tool, args, id] of [
      ['metrics', {}, 'queryMetrics'],
      ['explain_change', { measure: 'requests' }, 'queryMetrics'],
      ['errors', {}, 'queryErrors'],
      ['search_requests', { fields: ['request_headers'] }, 'exportRequestLogs'],
      ['search_requests', { consumer: 'acme' }, 'listConsumers'],
      ['search_requests', { path: '/items/1' }, 'listEndpoints'],
      ['get_request', { request_uuid: acme.uuids[0] }, 'getRequestDetails'],
      ['find', { kind: 'endpoint' }, 'listEndpoints'],
      ['find', { kind: 'consumer' }, 'listConsumers'],
    ] as const) {
      const { isError, text } = await callTool(client, tool, { app: app_name, ...args });
      expect([tool, isError, text]).toEqual([tool, true, `This API key does not allow ${id}.`]);
    }
    expect((await callTool(client, 'search_requests', { app: app_name })).isError).toBe(false);
    await client.close();

    const unlisted = await connectClient(app.url, {
      'Api-Key': await keyWith({ operations: ['getRequestLogs'] }),
    });
    const { text } = await callTool(unlisted, 'search_requests', {});
    expect(text).toBe('This API key does not allow listApps.');
    await unlisted.close();
  });
});

describe('a key with apps', () => {
  it('lists those, and returns for all others what it returns for an app that does not exist', async () => {
    const key = await keyWith({ appIds: [tenant.appId] });
    expect((await app.get('/v1/apps', key)).body.data).toMatchObject([{ id: tenant.appId }]);
    for (const [id, [path, json]] of Object.entries(requestEach(sibling.appId))) {
      if (!path.includes('/apps/')) continue;
      const response = await send(key, path, json);
      expect([id, response.status, response.text]).toEqual([id, 404, detail('App not found')]);
      expect((await send(key, ...requestEach(tenant.appId)[id as OperationId])).status).toBe(200);
    }
    const client = await connectClient(app.url, { 'Api-Key': key });
    const found = readRows(await callTool(client, 'find', { kind: 'app' }));
    expect(found.map(({ id }) => id)).toEqual([tenant.appId]);
    expect(await callTool(client, 'metrics', { app: 'Other shop' })).toMatchObject({ isError: true });
    await client.close();
  });

  it('reads nothing once its only app is gone: it does not become a key for all apps', async () => {
    const { key } = await app.admin.keys.create(tenant.teamId);
    await app.store.insert('api_keys_v1', [
      JSON.stringify({
        ...(
          await app.store.rows<object>(
            'test.key',
            `SELECT * EXCEPT (updated_at) FROM api_keys_v1 WHERE identifier = {identifier:String}`,
            { identifier: key.slice(0, 7) },
          )
        )[0],
        app_ids: [2_000_000_000],
      }),
    ]);
    expect((await app.get('/v1/apps', key)).body.data).toEqual([]);
    expect((await app.get(`/v1/apps/${tenant.appId}/consumers`, key)).status).toBe(404);
  });
});

describe('a key of one consumer', () => {
  let key: string;

  beforeAll(async () => {
    key = await keyWith(OF_ACME());
  });

  const at = (resource: string) => `/v1/apps/${tenant.appId}/${resource}`;

  it('returns from Get Request Logs what a full key returns with its consumer as a filter, page by page', async () => {
    const query = fc.record(
      {
        method: fc.constantFrom('GET', 'post,get'),
        path: fc.constantFrom('/items/*', '*', '/only/*', '/items/1'),
        status_code: fc.constantFrom('2xx', '404,5xx'),
        app_env_id: fc.constantFrom(1, 2),
        start: fc.constantFrom(since, iso(Date.now() - 5 * HOUR)),
      },
      { requiredKeys: [] },
    );
    const readAll = async (with_key: string, parameters: object) => {
      const records: unknown[] = [];
      for (let token = {}; ;) {
        const response = await app.get(at('request-logs'), with_key, { ...parameters, limit: 11, ...token });
        expect(response.status).toBe(200);
        const { data, next_token } = body(response.text);
        records.push(...data);
        if (next_token === undefined) return records;
        token = { next_token };
      }
    };
    let matches = 0;
    await fc.assert(
      fc.asyncProperty(query, async (parameters) => {
        const records = await readAll(key, parameters);
        expect(records).toEqual(await readAll(full, { ...parameters, consumer_id: acme.id }));
        matches += records.length;
      }),
      // The first run has all requests of the consumer: a random draw of filters can match few.
      { numRuns: 12, examples: [[{ start: since }]] },
    );
    expect(matches).toBeGreaterThanOrEqual(acme.uuids.length);
  });

  it.each(['hour', 'day'])(
    'returns the same traffic by %s as a full key with the filter',
    async (interval) => {
      for (const timezone of ['UTC', 'Asia/Kathmandu']) {
        const parameters = { start: since, interval, timezone };
        const scoped = await app.get(at('traffic'), key, parameters);
        const filtered = await app.get(at('traffic'), full, { ...parameters, consumer_id: acme.id });
        expect(body(scoped.text).data.length).toBeGreaterThan(0);
        expect(body(scoped.text)).toEqual(body(filtered.text));
      }
    },
  );

  it('returns the same metrics and exports as a full key with the filter', async () => {
    const filter = { field: 'consumer_id', op: 'eq', value: acme.id };
    const metrics = {
      since,
      until: iso(Date.now()),
      metrics: ['requests', 'error_rate', 'response_time_p95', 'apdex'],
    };
    const exported = { since, until: iso(Date.now()) };
    for (const [path, query] of [
      ['metrics', metrics],
      ['metrics', { ...metrics, interval: 'minute' }],
      ['metrics', { ...metrics, interval: 'day', timezone: 'Europe/Berlin', group_by: ['path', 'env'] }],
      ['metrics', { ...metrics, group_by: ['consumer_id'] }],
      ['metrics', { ...metrics, filters: [{ field: 'status_code', op: 'gte', value: 400 }] }],
      ['changes', { measure: 'response_time', ...exported }],
      ['request-logs', exported],
      ['request-logs', { ...exported, format: 'csv', fields: EXPORT_FIELDS }],
      ['request-logs', { ...exported, sample: 0.5 }],
      ['request-logs/stream', { ...exported, sample: 10, limit: 5 }],
      ['request-logs', { ...exported, filters: [{ field: 'url', op: 'like', value: '%users%' }] }],
      ['request-logs', { ...exported, filters: [{ field: 'path', op: 'eq', value: '/items/0' }] }],
    ] as const) {
      const filters = [...('filters' in query ? query.filters : []), filter];
      const scoped = await app.post(at(path), key, query);
      const filtered = await app.post(at(path), full, { ...query, filters });
      expect([path, scoped.status]).toEqual([path, 200]);
      expect([query, scoped.text]).toEqual([query, filtered.text]);
      expect(scoped.text.length).toBeGreaterThan(10);
    }
  });

  it('returns nothing of others for filters that name or hide them', async () => {
    const others = (await tenant.consumers()).data.filter(({ id }) => id !== acme.id);
    expect(others).toHaveLength(1);
    for (const consumer_id of [others[0]!.id, 0x7fffffff]) {
      expect(body((await app.get(at('request-logs'), key, { consumer_id })).text).data).toEqual([]);
      expect(body((await app.get(at('traffic'), key, { consumer_id })).text).data).toEqual([]);
    }
    for (const filters of [
      [{ field: 'consumer_id', op: 'neq', value: acme.id }],
      [{ field: 'consumer_id', op: 'is_null' }],
      [{ field: 'consumer_id', op: 'in', value: others.map(({ id }) => id) }],
    ]) {
      const metrics = { since, metrics: ['requests'], filters };
      expect((await app.post(at('metrics'), key, metrics)).text).toBe('');
      expect((await app.post(at('request-logs'), key, { since, filters })).text).toBe('');
    }
    const uuid = [{ field: 'request_uuid', op: 'eq', value: foreignUuid }];
    expect((await app.post(at('request-logs'), key, { since, filters: uuid })).text).toBe('');
    const details = await app.get(at(`request-logs/${foreignUuid}`), key);
    expect([details.status, details.text]).toEqual([404, detail('Request log not found')]);
    expect((await app.get(at(`request-logs/${acme.uuids[0]}`), key)).text).toBe(
      (await app.get(at(`request-logs/${acme.uuids[0]}`), full)).text,
    );
  });

  it('lists its consumer, the endpoints of its requests, and apps without their client ID and times', async () => {
    expect(body((await app.get(at('consumers'), key)).text).data).toMatchObject([{ identifier: 'acme' }]);
    const logs = body(
      (await app.get(at('request-logs'), full, { consumer_id: acme.id, start: since, limit: 1000 })).text,
    );
    const requested = (env?: string) =>
      new Set(
        (logs.data as object[] as LogBody[])
          .filter((log) => env === undefined || log.env === env)
          .map(({ method, path }) => `${method} ${path}`),
      );
    const listed = async (parameters = {}) => {
      const { data } = body((await app.get(at('endpoints'), key, parameters)).text);
      return new Set(data.map(({ method, path }) => `${String(method)} ${String(path)}`));
    };
    expect(await listed()).toEqual(requested());
    expect(requested().size).toBeLessThan(body((await app.get(at('endpoints'), full)).text).data.length);
    expect(await listed({ app_env_id: await tenant.envId('test') })).toEqual(requested('test'));
    const [shown, ...more] = body((await app.get('/v1/apps', key)).text).data;
    expect(more).toEqual([]);
    expect(shown).toMatchObject({
      id: tenant.appId,
      client_id: '00000000-0000-0000-0000-000000000000',
      envs: [{ last_sync_at: null }, { last_sync_at: null }],
    });
  });

  it('returns spans of traces in which all requests are of the consumer', async () => {
    const read = async (with_key: string, json: object) => {
      const { text } = await app.post(at('traces'), with_key, json);
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { trace_id: string }).trace_id);
    };
    // A request of another consumer of another app in trace 4 does not matter.
    const consumer = { identifier: 'globex', name: 'globex', group: 'customers' };
    await sibling.write({ timestamp: Date.now() - HOUR, consumer, captured_json: capture(4) });
    expect(await read(full, { since })).toHaveLength(11);
    // Requests 0, 3 and 6 have the traces 1, 4 and 7; trace 11 has no request.
    expect(await read(key, { since })).toEqual([1, 4, 7].map((id) => hex(id, 32)));
    const named = (id: number) => ({ filters: [{ field: 'trace_id', op: 'eq', value: hex(id, 32) }] });
    expect(await read(key, named(4))).toEqual([hex(4, 32)]);
    for (const id of [2, 10, 11]) expect(await read(key, named(id))).toEqual([]);
    expect((await app.get(at(`request-logs/${acme.uuids[1]}`), key)).body.spans).toHaveLength(1);
    // Request 9 is the consumer's, but its trace is shared.
    const shared = acme.uuids[3];
    expect((await app.get(at(`request-logs/${shared}`), full)).body.spans).toHaveLength(1);
    expect((await app.get(at(`request-logs/${shared}`), key)).body.spans).toEqual([]);
  });

  it('returns no log records that may be of a request of another consumer in the same trace', async () => {
    const [traceId, spanId] = [hex(77, 32), hex(78, 16)];
    const timestamp = Date.now() - HOUR;
    const consumer = (identifier: string) => ({ identifier, name: identifier, group: 'customers' });
    const request_uuid = findRequestUuid(traceId, spanId, BigInt(timestamp) * 1_000_000n);
    const captured_json = capture(77);
    await sibling.write(
      { timestamp, request_uuid, consumer: consumer('acme'), captured_json },
      { timestamp, consumer: consumer('globex'), captured_json },
    );
    const place = { app_id: sibling.appId, app_env_id: await sibling.envId('prod'), trace_id: traceId };
    const start_time_ns = String(BigInt(timestamp) * 1_000_000n);
    const span = {
      start_time_ns,
      duration_ns: '1',
      span_id: spanId,
      kind: 'SERVER',
      status: 'OK',
      attributes: '{}',
      events: '[]',
    };
    const log = { timestamp_ns: start_time_ns, level: 'INFO' };
    await app.store.insert('logged_spans', [JSON.stringify({ ...place, ...span })]);
    await app.store.insert('logged_messages', [
      JSON.stringify({ ...place, ...log, record_hash: '1', span_id: spanId, message: 'of its span' }),
      JSON.stringify({
        ...place,
        ...log,
        record_hash: '2',
        span_id: hex(79, 16),
        message: 'of an unknown span',
      }),
    ]);
    const read = async (with_key: string) => {
      const response = await app.get(`/v1/apps/${sibling.appId}/request-logs/${request_uuid}`, with_key);
      return (response.body as { logs: { message: string }[] }).logs.map(({ message }) => message);
    };
    expect(await read(full)).toEqual(['of its span', 'of an unknown span']);
    const scopes = { appIds: [sibling.appId], consumer: 'acme' };
    expect(await read(await keyWith(scopes))).toEqual(['of its span']);
  });

  it('rejects page tokens of other keys, and others reject its tokens', async () => {
    const next = async (with_key: string, resource: string, parameters: object) =>
      body((await app.get(at(resource), with_key, { ...parameters, limit: 1 })).text).next_token!;
    for (const [resource, parameters] of [
      ['request-logs', { start: since }],
      ['traffic', { start: since }],
    ] as const) {
      const [mine, theirs] = [await next(key, resource, parameters), await next(full, resource, parameters)];
      expect((await app.get(at(resource), key, { ...parameters, next_token: mine })).status).toBe(200);
      expect((await app.get(at(resource), key, { ...parameters, next_token: theirs })).status).toBe(422);
      expect((await app.get(at(resource), full, { ...parameters, next_token: mine })).status).toBe(422);
    }
    const theirs = await next(full, 'consumers', {});
    expect((await app.get(at('consumers'), key, { next_token: theirs })).status).toBe(422);
  });

  it('returns the same to agents', async () => {
    const client = await connectClient(app.url, { 'Api-Key': key });
    const call = async (tool: string, args: object) =>
      readRows(await callTool(client, tool, { limit: 100, ...args }));
    expect((await call('find', { kind: 'consumer' })).map(({ name }) => name)).toEqual(['acme']);
    expect((await call('find', { kind: 'consumer', query: 'globex' })).map(({ name }) => name)).toEqual([
      'acme',
    ]);
    expect(
      (await call('find', { query: '/only/globex', kind: 'endpoint' })).map(({ name }) => name),
    ).not.toContain('/only/globex');
    const requests = await call('search_requests', { since: '48h', limit: 200, max_tokens: 20_000 });
    expect(requests).toHaveLength(30);
    expect(new Set(requests.map(({ consumer }) => consumer))).toEqual(new Set(['acme']));
    const { text } = await callTool(client, 'search_requests', {
      since: '48h',
      filters: [{ field: 'consumer_id', op: 'neq', value: acme.id }],
    });
    expect(text).not.toContain('globex');
    const details = await callTool(client, 'get_request', { request_uuid: foreignUuid });
    expect([details.isError, details.text]).toEqual([true, expect.stringContaining('has no request')]);
    const [metrics] = (await callTool(client, 'metrics', { since: '48h', metrics: ['requests'] })).structured
      .untrusted.rows;
    expect(metrics).toContain(30);
    await client.close();
  });

  it('returns nothing for a consumer that is not known, and what it sends once it is', async () => {
    const unknown = await keyWith({ ...OF_ACME(), consumer: 'initech' });
    for (const resource of ['request-logs', 'traffic', 'consumers', 'endpoints'])
      expect([resource, body((await app.get(at(resource), unknown)).text).data]).toEqual([resource, []]);
    for (const [resource, json] of [
      ['metrics', { since, metrics: ['requests'] }],
      ['request-logs', { since }],
      ['traces', { since }],
    ] as const)
      expect([resource, (await app.post(at(resource), unknown, json)).text]).toEqual([resource, '']);
    await tenant.write({ consumer: { identifier: 'initech', name: '', group: '' }, path: '/items/1' });
    await waitForCache();
    expect(body((await app.get(at('request-logs'), unknown)).text).data).toHaveLength(1);
  });

  it.each(["acme' OR 1=1 --", 'ACME', 'acm', '*', '%', String(1)])(
    'is not another one: %j',
    async (consumer) => {
      const other = await keyWith({ ...OF_ACME(), consumer });
      expect(body((await app.get(at('request-logs'), other)).text).data).toEqual([]);
    },
  );
});

describe('a key without bodies', () => {
  let key: string;
  let client: Client;
  const at = (resource: string) => `/v1/apps/${tenant.appId}/${resource}`;
  const REFUSED = detail('This API key does not allow headers and bodies');

  beforeAll(async () => {
    key = await keyWith({ hasBodies: false });
    client = await connectClient(app.url, { 'Api-Key': key });
  });

  afterAll(() => client.close());

  it('returns details without them, and all else as it is', async () => {
    for (const uuid of acme.uuids.slice(0, 2)) {
      const [hidden, shown] = [
        await app.get(at(`request-logs/${uuid}`), key, { include_consumer_id: 'true' }),
        await app.get(at(`request-logs/${uuid}`), full, { include_consumer_id: 'true' }),
      ];
      expect(shown.text).toContain(SECRET);
      expect(hidden.text).not.toContain(SECRET);
      expect(hidden.text).toContain(`"attributes":{${SHOWN}.0}`);
      expect({ ...shown.body, spans: [] }).toEqual({
        ...hidden.body,
        spans: [],
        request_headers: shown.body.request_headers,
        response_headers: shown.body.response_headers,
        request_body_json: shown.body.request_body_json,
        response_body_json: shown.body.response_body_json,
      });
      expect(hidden.headers.etag).not.toBe(shown.headers.etag);
    }
  });

  it.each([
    ['request-logs', { fields: ['request_headers'] }],
    ['request-logs', { fields: ['request_body'] }],
    ['request-logs', { fields: ['path', 'response_body_json'], format: 'parquet' }],
    ['request-logs', { fields: ['response_body_json'], format: 'har' }],
    ['request-logs/stream', { filters: [{ field: 'response_headers', key: 'x-secret', op: 'exists' }] }],
    ['request-logs', { filters: [{ field: 'response_body', op: 'contains', value: 'o' }] }],
    ...CAPTURED_ATTRIBUTES.flatMap((key) =>
      ['attributes', 'events'].map(
        (field) => ['traces', { filters: [{ field, key, op: 'exists' }] }] as [string, object],
      ),
    ),
    ...CAPTURED_ATTRIBUTES.map(
      (event_name) =>
        ['traces', { filters: [{ field: 'events', event_name, op: 'exists' }] }] as [string, object],
    ),
  ])('returns 403 for %s with %j, which would show or test them', async (resource, json) => {
    const response = await app.post(at(resource), key, { since, ...json });
    expect([response.status, response.text]).toEqual([403, REFUSED]);
  });

  it('returns an HTTP Archive without them', async () => {
    const body = { since, format: 'har' };
    const read = async (key: string) =>
      readHar(
        ((await app.post(at('request-logs'), key, body).responseType('blob')).body as Buffer).toString(),
      );
    const [hidden, shown] = [await read(key), await read(full)];
    expect(JSON.stringify(shown)).toContain(SECRET);
    expect(JSON.stringify(hidden)).not.toContain(SECRET);
    expect(hidden.map(({ _request_uuid }) => _request_uuid)).toEqual(
      shown.map(({ _request_uuid }) => _request_uuid),
    );
  });

  it.each(['ndjson', 'csv'])('returns spans as %s without attributes that hold them', async (format) => {
    const fields = ['attributes', 'events'];
    const hidden = await app.post(at('traces'), key, { since, fields, format });
    const shown = await app.post(at('traces'), full, { since, fields, format });
    expect(shown.text).toContain(SECRET);
    expect(hidden.text).not.toContain(SECRET);
    expect(hidden.text).not.toContain('header');
    expect(hidden.text).not.toContain('metadata');
    if (format !== 'ndjson') return;
    const [line = ''] = hidden.text.split('\n');
    expect(line).toContain(`"attributes":{${SHOWN}}`);
    expect(JSON.parse(line)).toMatchObject({
      events: [{ timestamp: '2026-11-20T00:00:00Z', name: 'one', attributes: {} }],
    });
  });

  it('tests no event with headers and bodies by its other attributes', async () => {
    const find = async (key: string, op: string, value?: string) => {
      const filters = [{ field: 'events', key: 'body', op, value }];
      return (await app.post(at('traces'), key, { since, filters })).text.split('\n').length - 1;
    };
    expect([await find(full, 'eq', SECRET), await find(key, 'eq', SECRET)]).toEqual([11, 0]);
    expect([await find(full, 'not_exists'), await find(key, 'not_exists')]).toEqual([0, 11]);
  });

  it('returns none to agents', async () => {
    const args = { app: String(tenant.appId), since: '48h', limit: 100 };
    const whole = await callTool(client, 'get_request', { app: args.app, request_uuid: acme.uuids[0] });
    expect([whole.isError, whole.text]).toEqual([false, expect.not.stringContaining(SECRET)]);
    const part = { app: args.app, request_uuid: acme.uuids[0], part: 'request_headers' };
    expect((await callTool(client, 'get_request', part)).text).toBe('The request has no request_headers.');
    for (const more of [
      { fields: ['request_headers'] },
      { filters: [{ field: 'request_body_json', op: 'contains', value: 'o' }] },
    ])
      expect(await callTool(client, 'search_requests', { ...args, ...more })).toMatchObject({
        isError: true,
        text: 'This API key does not allow headers and bodies.',
      });
  });
});

describe('a key with requests a minute', () => {
  it('has its own limit, below or above the configured one; all other keys keep theirs', async () => {
    const key = await keyWith({ requestsPerMinute: 2 });
    for (const remaining of ['1', '0']) {
      const { status, headers } = await app.get('/v1/team', key);
      expect([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual([
        200,
        '2',
        remaining,
      ]);
      expect(headers['ratelimit-policy']).toBe('"default";q=2;w=60');
    }
    expect((await app.get('/v1/apps', key)).status).toBe(429);
    expect((await app.get('/v1/team', full)).headers['x-ratelimit-limit']).toBe('1000000');
    const more = await keyWith({ requestsPerMinute: 2_000_000 });
    expect((await app.get('/v1/team', more)).headers['x-ratelimit-limit']).toBe('2000000');
  });
});

describe('the scopes of a key', () => {
  it('change, and stay as they are when the key is renamed or revoked', async () => {
    const scopes = { ...OF_ACME(), operations: ['getTeam'], hasBodies: false, requestsPerMinute: 50 };
    const { key, identifier } = await app.admin.keys.create(tenant.teamId, { scopes });
    await app.admin.keys.rename(identifier, 'portal');
    const find = async () =>
      (await app.admin.keys.list(tenant.teamId)).find((row) => row.identifier === identifier);
    const columns = {
      app_ids: [tenant.appId],
      operations: ['getTeam'],
      has_bodies: false,
      consumer: 'acme',
      requests_per_minute: 50,
    };
    expect(await find()).toMatchObject({ name: 'portal', ...columns });
    expect((await app.get('/v1/apps', key)).status).toBe(403);
    expect(await app.admin.keys.setScopes(identifier, ALL_SCOPES)).toMatchObject({
      identifier,
      name: 'portal',
      app_ids: [],
      operations: [],
      has_bodies: true,
      consumer: null,
      requests_per_minute: null,
    });
    await waitForCache();
    expect(body((await app.get('/v1/apps', key)).text).data).toHaveLength(2);
    await app.admin.keys.setScopes(identifier, { ...ALL_SCOPES, operations: ['getTeam'] });
    await app.admin.keys.revoke(identifier);
    expect((await find())?.operations).toEqual(['getTeam']);
    await app.admin.keys.setScopes(identifier, ALL_SCOPES);
    await waitForCache();
    expect((await app.get('/v1/apps', key)).status).toBe(401);
  });

  it('name apps of the team alone', async () => {
    const stranger = await Tenant.create(app);
    const scopes = { ...ALL_SCOPES, appIds: [tenant.appId, stranger.appId] };
    const refused = `Team ${tenant.teamId} has no app ${stranger.appId}`;
    await expect(app.admin.keys.create(tenant.teamId, { scopes })).rejects.toThrow(refused);
    const { identifier } = await app.admin.keys.create(tenant.teamId);
    await expect(app.admin.keys.setScopes(identifier, scopes)).rejects.toThrow(refused);
  });
});

describe('the audit of reads', () => {
  const readLines = () =>
    readFileSync(auditFile, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('has a line for each read of headers and bodies, and none for other reads', async () => {
    const before = readLines().length;
    const { key } = await app.admin.keys.create(tenant.teamId);
    const at = (resource: string) => `/v1/apps/${tenant.appId}/${resource}`;
    const uuid = acme.uuids[0]!;
    const client = await connectClient(app.url, { 'Api-Key': key });
    const details = await app.get(at(`request-logs/${uuid}`), key);
    const exported = { since, until: iso(Date.now()), fields: ['request_headers', 'path'] };
    const file = await app.post(at('request-logs'), key, {
      ...exported,
      filters: [{ field: 'response_body', op: 'contains', value: SECRET }],
    });
    await callTool(client, 'get_request', { app: String(tenant.appId), request_uuid: uuid });
    const named = {
      filters: [
        { field: 'trace_id', op: 'eq', value: hex(1, 32) },
        { field: 'attributes', key: 'http.request.header.x-secret', op: 'exists' },
      ],
      fields: ['events'],
    };
    await app.post(at('traces'), key, { since, until: exported.until, fields: ['name', 'attributes'] });
    await app.post(at('traces'), key, named);
    await app.post(at('traces'), key, { since });
    const withoutBodies = await keyWith({ hasBodies: false });
    await app.get(at(`request-logs/${uuid}`), withoutBodies);
    await app.post(at('traces'), withoutBodies, { since, fields: ['attributes'] });
    await app.get(at('request-logs'), key);
    await app.post(at('request-logs'), key, { since });
    await app.get(at('request-logs/00000000-0000-4000-8000-000000000000'), key);
    await client.close();
    const common = {
      level: 30,
      time: expect.any(Number),
      key: key.slice(0, 7),
      team_id: tenant.teamId,
      app_id: tenant.appId,
      request_id: expect.any(String),
      outcome: 'ok',
      msg: 'audit',
    };
    expect(readLines().slice(before)).toEqual([
      {
        ...common,
        audit: 'read.getRequestDetails',
        request_uuid: uuid,
        request_id: details.headers['x-request-id'],
      },
      {
        ...common,
        audit: 'read.exportRequestLogs',
        since: exported.since,
        until: exported.until,
        fields: 'request_headers,response_body_json',
        request_id: file.headers['x-request-id'],
      },
      { ...common, audit: 'read.getRequestDetails', request_uuid: uuid, tool: 'get_request' },
      {
        ...common,
        audit: 'read.queryTraces',
        since: exported.since,
        until: exported.until,
        fields: 'attributes',
      },
      { ...common, audit: 'read.queryTraces', fields: 'attributes,events' },
    ]);
    expect(readFileSync(auditFile, 'utf8')).not.toContain(SECRET);
  });
});
