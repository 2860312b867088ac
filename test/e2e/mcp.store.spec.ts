import type { Client } from '@modelcontextprotocol/client';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { EXPORT_FIELDS } from '../../src/api/request-logs/export/export.input.js';
import { TestApp } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { type ToolResponse, callTool, connectClient, countTokens, readRows } from '../setup/mcp.js';
import { Tenant } from '../setup/tenant.js';

const TOOLS = ['find', 'metrics', 'search_requests', 'get_request', 'explain_change', 'errors'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

let app: TestApp;
let tenant: Tenant;
let client: Client;
const call = (name: string, args?: object): Promise<ToolResponse> => callTool(client, name, args);

describe('a server', () => {
  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const at = Date.now() - 2 * HOUR_MS;
    await tenant.write(
      ...Array.from({ length: 6 }, (_, index) => ({
        timestamp: at + index * 1000,
        path: '/orders',
        url: 'https://shop.example/orders',
        method: 'POST',
        consumer: { identifier: 'acme', name: 'Acme Corp', group: 'Partners' },
        status_code: index < 4 ? 201 : 503,
        response_time_ms: 100,
      })),
      ...Array.from({ length: 3 }, (_, index) => ({
        timestamp: at + index * 1000,
        path: '/products/{id}',
        url: `https://shop.example/products/${index}`,
        response_time_ms: 20,
      })),
    );
    client = await connectClient(app.url, { 'Api-Key': tenant.key });
  });
  afterAll(async () => {
    await client.close();
    await app.stop();
  });

  /** A message by hand. */
  const post = (message: unknown, headers: Record<string, string> = {}) =>
    fetch(`${app.url}/mcp`, {
      method: 'POST',
      headers: { 'Api-Key': tenant.key, ...JSON_TYPE, ...headers },
      body: typeof message === 'string' ? message : JSON.stringify(message),
    });

  describe('the Model Context Protocol over HTTP', () => {
    it.each(['legacy', 'auto'] as const)(
      'serves the SDK client that negotiates its version as %s',
      async (mode) => {
        const other = await connectClient(app.url, { Authorization: `Bearer ${tenant.key}` }, mode);
        expect(other.getNegotiatedProtocolVersion()).toBe(mode === 'legacy' ? '2025-11-25' : '2026-07-28');
        expect(other.getServerVersion()).toMatchObject({ name: 'request-analytics' });
        expect((await other.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
        expect(readRows(await callTool(other, 'metrics'))).toEqual([
          { requests: 9, error_rate: 0.2222, response_time_p95: expect.any(Number) },
        ]);
        await other.close();
      },
    );

    it('lists six tools that only read, in at most 2,000 tokens', async () => {
      const { tools } = (
        (await (await post(LIST)).json()) as { result: { tools: { name: string; annotations: object }[] } }
      ).result;
      expect(tools.map(({ name }) => name)).toEqual(TOOLS);
      for (const { annotations } of tools)
        expect(annotations).toMatchObject({
          readOnlyHint: true,
          destructiveHint: false,
          openWorldHint: false,
        });
      expect(countTokens({ tools })).toBeLessThanOrEqual(2_000);
    });

    it('responds in JSON without a session', async () => {
      const response = await post(LIST);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(response.headers.get('mcp-session-id')).toBeNull();
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('x-ratelimit-limit')).toBe('1000000');
    });

    it.each(['GET', 'DELETE'])('responds 405 to %s', async (method) => {
      const response = await fetch(`${app.url}/mcp`, { method, headers: { 'Api-Key': tenant.key } });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    });

    it('responds 202 to a notification', async () => {
      const response = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
      expect([response.status, await response.text()]).toEqual([202, '']);
    });

    it.each<[string, unknown, Record<string, string>, number, unknown]>([
      ['another content type', LIST, { 'Content-Type': 'text/plain' }, 415, { error: { code: -32000 } }],
      ['a client that takes no JSON', LIST, { Accept: 'text/html' }, 406, { error: { code: -32000 } }],
      ['no JSON', '{"jsonrpc"', {}, 400, { error: { code: -32700 }, id: null }],
      ['no body', '', {}, 400, { error: { code: -32700 } }],
      ['JSON that is no message', { a: 1 }, {}, 400, { error: { code: expect.any(Number) } }],
      [
        'a batch',
        [LIST, LIST],
        {},
        400,
        { error: { code: -32600, message: expect.stringContaining('Batches') } },
      ],
      [
        'deeply nested JSON',
        `{"a":${'['.repeat(500)}${']'.repeat(500)}}`,
        {},
        400,
        { error: { code: -32700 } },
      ],
      [
        'another version',
        LIST,
        { 'Mcp-Protocol-Version': '1999-01-01' },
        400,
        { error: { code: expect.any(Number) } },
      ],
      [
        'a body beyond 64 KiB',
        { ...LIST, params: { x: 'x'.repeat(70_000) } },
        {},
        413,
        { detail: 'Payload too large' },
      ],
      ['an unknown method', { ...LIST, method: 'resources/list' }, {}, 200, { error: { code: -32601 } }],
      [
        'an unknown tool',
        { ...LIST, method: 'tools/call', params: { name: 'drop' } },
        {},
        200,
        { error: { code: -32602 } },
      ],
      ['another origin', LIST, { Origin: 'https://evil.example' }, 403, { detail: 'Origin not allowed' }],
      ['an opaque origin', LIST, { Origin: 'null' }, 403, { detail: 'Origin not allowed' }],
    ])('rejects %s', async (_, message, headers, status, body) => {
      const response = await post(message, headers);
      expect([response.status, await response.json()]).toMatchObject([status, body]);
    });

    it('serves pages of this machine', async () => {
      expect((await post(LIST, { Origin: 'http://localhost:6274' })).status).toBe(200);
    });

    it.each([
      ['as a bearer, in any case', (key: string) => ({ Authorization: `bearer  ${key} ` })],
      [
        'in Api-Key, beside credentials of a proxy',
        (key: string) => ({ 'Api-Key': key, Authorization: 'Basic cHJveHk6c2VjcmV0' }),
      ],
    ])('takes a key %s', async (_, toHeaders) => {
      const headers = { ...JSON_TYPE, ...toHeaders(tenant.key) };
      const response = await fetch(`${app.url}/mcp`, {
        method: 'POST',
        headers,
        body: JSON.stringify(LIST),
      });
      expect(response.status).toBe(200);
    });

    it('responds 401 without a key, with a wrong one, and to a bearer elsewhere', async () => {
      const { key } = tenant;
      for (const [path, headers] of [
        ['/mcp', {}],
        ['/mcp', { 'Api-Key': `${key.slice(0, -1)}_` }],
        ['/mcp', { Authorization: 'Bearer' }],
        ['/mcp', { Authorization: `Basic ${key}` }],
        ['/mcp', { Authorization: `Bearer ${key} x` }],
        ['/v1/team', { Authorization: `Bearer ${key}` }],
      ] as const) {
        const method = path === '/mcp' ? 'POST' : 'GET';
        const response = await fetch(app.url + path, {
          method,
          headers: { ...JSON_TYPE, ...(headers as Record<string, string>) },
        });
        expect([path, headers, response.status]).toEqual([path, headers, 401]);
      }
    });
  });

  describe('plans and the access log', () => {
    it('responds 403 to a team without the plan', async () => {
      const { key } = await app.team('free');
      expect((await post(LIST, { 'Api-Key': key })).status).toBe(403);
    });

    it('writes a line of the access log that names the tool, the app and the key', async () => {
      await post(
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'metrics', arguments: {} } },
        { 'X-Request-Id': 'mcp-line' },
      );
      const line = await eventually(() => app.logged.split('\n').find((part) => part.includes('mcp-line')));
      expect(JSON.parse(line)).toMatchObject({
        route: '/mcp',
        status: 200,
        tool: 'metrics',
        app_id: tenant.appId,
        team_id: tenant.teamId,
        key: tenant.key.slice(0, 7),
        rows_read: expect.any(Number),
      });
    });
  });

  describe('GET /llms.txt', () => {
    it('tells without a key what there is', async () => {
      const response = await fetch(`${app.url}/llms.txt`);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/markdown; charset=utf-8',
      ]);
      const text = await response.text();
      for (const word of [...TOOLS, 'openapi.json', 'Api-Key', 'v1/apps']) expect(text).toContain(word);
      const linked = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!);
      expect(linked.length).toBeGreaterThan(1);
      for (const link of linked) {
        const { status } = await fetch(`${app.url}/${link}`, { headers: { 'Api-Key': tenant.key } });
        expect([link, [200, 405].includes(status)]).toEqual([link, true]);
      }
    });
  });

  describe('tools', () => {
    it('find names in the order of their likeness', async () => {
      expect(readRows(await call('find', { query: 'acme' }))).toEqual([
        expect.objectContaining({ kind: 'consumer', app: 'Shop', name: 'acme', match: 'exact' }),
      ]);
      expect(readRows(await call('find', { query: 'PARTNER' }))[0]).toMatchObject({
        kind: 'consumer',
        match: 'contains',
      });
      const similar = await call('find', { query: 'ordres', kind: 'endpoint' });
      expect(readRows(similar)[0]).toMatchObject({ name: '/orders', detail: 'POST', match: 'similar' });
      expect(readRows(await call('find')).map(({ kind }) => kind)).toEqual([
        'app',
        'env',
        'endpoint',
        'endpoint',
        'consumer',
      ]);
    });

    it('metrics gives the whole, groups, and the period before', async () => {
      const result = await call('metrics', {
        group_by: ['path'],
        metrics: ['requests', 'server_errors'],
        compare: true,
      });
      expect(readRows(result)).toEqual([
        {
          path: '(all)',
          ...{ requests: 9, requests_before: 0, requests_change: 9 },
          ...{ server_errors: 2, server_errors_before: 0, server_errors_change: 2 },
        },
        expect.objectContaining({ path: '/orders', requests: 6, server_errors: 2 }),
        expect.objectContaining({ path: '/products/{id}', requests: 3, server_errors: 0 }),
      ]);
      expect(result.structured.untrusted.app).toBe('Shop');
      expect(result.text).toContain('/orders|6|0|6|2|0|2');
    });

    it('metrics leaves out groups beyond top, and says how many', async () => {
      const result = await call('metrics', { group_by: ['path'], metrics: ['requests'], top: 1 });
      expect(readRows(result).map(({ path }) => path)).toEqual(['(all)', '/orders']);
      expect(result.structured.left_out).toEqual([
        expect.stringMatching(/^1 groups with 3 requests; raise top/),
      ]);
    });

    it('metrics gives a series in the timezone asked for', async () => {
      const result = await call('metrics', {
        interval: 'hour',
        timezone: 'Asia/Kolkata',
        metrics: ['requests'],
      });
      expect(result.structured.window.timezone).toBe('Asia/Kolkata');
      expect(result.structured.window.since).toMatch(/\+05:30$/);
      const [row] = readRows(result);
      expect(row!.period_start).toMatch(/T\d\d:00\+05:30$/);
      // The window is that of whole periods, which are what is counted.
      expect(result.structured.window.since).toMatch(/T\d\d:00\+05:30$/);
      expect(result.structured.window.until).toMatch(/T\d\d:00\+05:30$/);
      expect(readRows(result).reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(9);
    });

    it.each([
      ['each period fits', { max_tokens: 3_000 }, 0],
      ['no period fits', { max_tokens: 1_000 }, 1],
    ])('metrics continues a series by next until its end, each row once: %s', async (_, more, lost) => {
      const [today, days, paths] = [Math.floor(Date.now() / DAY_MS) * DAY_MS, 3, 60];
      const other = await Tenant.create(app);
      await other.write(
        ...Array.from({ length: days * paths }, (_, index) => ({
          timestamp: today - (1 + Math.floor(index / paths)) * DAY_MS,
          path: `/a/rather/long/path/of/some/endpoint/${index % paths}`,
        })),
      );
      const theirs = await connectClient(app.url, { 'Api-Key': other.key });
      const seen = [];
      let unread = 0;
      let calls = 0;
      let next: object | undefined = { since: '4d' };
      while (next && calls++ < 10) {
        const result: ToolResponse = await callTool(theirs, 'metrics', {
          interval: 'day',
          group_by: ['path', 'env'],
          metrics: ['requests'],
          top: 100,
          ...more,
          ...next,
        });
        seen.push(...readRows(result).map(({ period_start, path }) => `${period_start} ${path}`));
        const [, count] =
          /^(\d+) rows of \S+; raise max_tokens/.exec(result.structured.left_out[0] ?? '') ?? [];
        unread += Number(count ?? 0);
        ({ next } = result.structured);
      }
      await theirs.close();
      expect([calls, new Set(seen.map((row) => row.slice(0, 10))).size]).toEqual([days, days]);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.length + unread).toBe(days * paths);
      expect(Math.sign(unread)).toBe(lost);
    });

    it('metrics and search_requests say which part of the window is not kept any more', async () => {
      const result = await call('metrics', { since: '2020-01-01', metrics: ['requests'] });
      expect(readRows(result)).toEqual([{ requests: 9 }]);
      expect(result.structured.left_out).toEqual([expect.stringContaining('kept for 13 months')]);
      expect(Date.parse(result.structured.window.since)).toBeGreaterThan(Date.now() - 400 * 24 * HOUR_MS);
      const logs = await call('search_requests', { since: '2020-01-01' });
      expect(logs.structured.left_out).toEqual([expect.stringContaining('kept for 15 days')]);
    });

    it.each<[string, object, string | undefined, string | undefined]>([
      ['all is kept', { since: '2h' }, undefined, undefined],
      ['the earlier one is cut', { since: '300d' }, undefined, 'the beginning of'],
      ['the earlier one is not kept', { since: '2020-01-01' }, 'the beginning of', 'all of'],
      ['none is kept', { since: '2000-01-01', until: '2001-01-01' }, 'all of', 'all of'],
      ['nothing was sent yet', { since: '2090-01-01', until: '2090-01-02' }, undefined, undefined],
    ])(
      'metrics and explain_change say what is not kept of each window: %s',
      async (_, args, window, before) => {
        const describe = (missing: string | undefined, name: string) =>
          missing === undefined
            ? []
            : [expect.stringMatching(`^${missing} the ${name}: .*kept for 13 months`)];
        const counted = await call('metrics', { ...args, metrics: ['requests'] });
        expect(counted.structured.left_out).toEqual(describe(window, 'window'));
        const compared = await call('metrics', { ...args, metrics: ['requests'], compare: true });
        expect(compared.structured.left_out).toEqual([
          ...describe(window, 'window'),
          ...describe(before, 'window before'),
        ]);
        const explained = await call('explain_change', { ...args, measure: 'requests' });
        expect(explained.structured.left_out).toEqual([
          ...describe(window, 'window'),
          ...describe(before, 'baseline'),
        ]);
      },
    );

    it.each([
      [{ consumer: 'acme' }, 6],
      [{ consumer: 'Acme corp' }, 6],
      [{ method: 'GET' }, 3],
      [{ method: ' post' }, 6],
      [{ method: 'get, ,POST,' }, 9],
      [{ method: 'GET', path: 'POST /orders' }, 6],
      [{ method: ' ,' }, 9],
      [{ method: 'PUT,PATCH' }, 0],
      [{ path: '/orders' }, 6],
      [{ path: 'POST /orders' }, 6],
      [{ path: '/pro*' }, 3],
      [{ path: '/_r*' }, 0],
      [{ status: '5xx' }, 2],
      [{ status: '201,503' }, 6],
      [{ env: 'prod', path: '/%' }, undefined],
      [{ until: '3h' }, 0],
    ])('metrics and search_requests filter by %j', async (filter, requests) => {
      const result = await call('metrics', { ...filter, metrics: ['requests'] });
      expect(result.isError).toBe(requests === undefined);
      if (requests === undefined) return;
      expect(readRows(result)).toEqual([{ requests }]);
      for (const order of ['newest', 'oldest'])
        expect(readRows(await call('search_requests', { ...filter, order, limit: 50 }))).toHaveLength(
          requests,
        );
    });

    it('metrics and explain_change compare a window whose period before begins ahead of the calendar', async () => {
      for (const window of [
        { since: '0001-01-01' },
        { since: '24h', until: '9999-12-31' },
        { since: '999999w' },
      ]) {
        const counted = await call('metrics', { ...window, metrics: ['requests'], compare: true });
        expect(readRows(counted)).toEqual([{ requests: 9, requests_before: 0, requests_change: 9 }]);
        const changed = await call('explain_change', { ...window, measure: 'requests' });
        expect(readRows(changed)[0]).toMatchObject({ now: 9, before: 0 });
      }
    });

    it('search_requests continues behind the last row shown, in both orders', async () => {
      for (const order of ['newest', 'oldest']) {
        const seen = [];
        let next: object | undefined = {};
        while (next) {
          const result: ToolResponse = await call('search_requests', {
            order,
            limit: 4,
            max_tokens: 1_000,
            ...next,
          });
          seen.push(...readRows(result));
          next = result.structured.next;
        }
        expect(new Set(seen.map(({ request_uuid }) => request_uuid)).size).toBe(9);
        expect(seen).toHaveLength(9);
        const times = seen.map(({ timestamp }) => String(timestamp));
        expect(times).toEqual([...times].sort((a, b) => (order === 'newest' ? -1 : 1) * a.localeCompare(b)));
      }
    });

    it('search_requests shows a row with every field in the fewest tokens, so that next goes on', async () => {
      const fields = EXPORT_FIELDS.filter((field) => field !== 'consumer_id');
      const { next } = (await call('search_requests', { order: 'oldest', limit: 4 })).structured;
      const cramped = await call('search_requests', { ...next, order: 'oldest', fields, max_tokens: 1_000 });
      expect(readRows(cramped).length).toBeGreaterThan(0);
      expect(cramped.structured.next).not.toEqual(next);
    });

    it('search_requests finds by any field, oldest first', async () => {
      const result = await call('search_requests', {
        filters: [{ field: 'url', op: 'contains', value: '/products/1' }],
        fields: ['url', 'consumer', 'exception_type'],
      });
      expect(readRows(result)).toEqual([
        expect.objectContaining({
          url: 'https://shop.example/products/1',
          consumer: null,
          exception_type: null,
        }),
      ]);
      expect(result.structured.order).toBe('oldest');
    });

    it('get_request says how many log records are left out', async () => {
      const trace_id = '77'.repeat(16);
      const timestamp = Date.now() - 60_000;
      const captured_json = toCaptureJson({ ...EMPTY_CAPTURE, trace_id });
      const [record] = await tenant.write({ timestamp, captured_json });
      const place = { app_id: tenant.appId, app_env_id: await tenant.envId(record!.env), trace_id };
      const logs = Array.from({ length: 1_007 }, (_, index) =>
        JSON.stringify({
          ...place,
          level: 'info',
          timestamp_ns: `${timestamp}000000`,
          record_hash: `${index}`,
        }),
      );
      await app.store.insert('logged_messages', logs);
      const { structured } = await call('get_request', { request_uuid: record!.request_uuid });
      expect(structured.left_out.at(-1)).toMatch(/^7 more log records/);
    });

    it('get_request has a stack trace and headers whole within the default of tokens', async () => {
      const frames = Array.from(
        { length: 16 },
        (_, index) => `    at handler${index} (/app/src/orders/checkout.service.ts:${index}:17)`,
      );
      const headers = Array.from({ length: 8 }, (_, index): [string, string] => [
        `x-header-${index}`,
        'a value',
      ]);
      const [record] = await tenant.write({
        captured_json: toCaptureJson({
          ...EMPTY_CAPTURE,
          request_headers: headers,
          exception: {
            type: 'TypeError',
            message: 'x',
            stacktrace: frames.join('\n'),
            tracker_event_id: null,
          },
        }),
      });
      const { structured, tokens } = await call('get_request', { request_uuid: record!.request_uuid });
      expect(structured.left_out).toEqual([]);
      expect(structured.untrusted.exception).toBe(`TypeError: x\n${frames.join('\n')}`);
      expect(tokens).toBeLessThanOrEqual(2_000);
    });

    it('metrics takes the start of a day by its name', async () => {
      const { structured } = await call('metrics', {
        since: 'yesterday',
        until: 'today',
        timezone: 'Asia/Tokyo',
      });
      expect([structured.window.since, structured.window.until]).toEqual([
        expect.stringMatching(/T00:00\+09:00$/),
        expect.stringMatching(/T00:00\+09:00$/),
      ]);
    });

    it('get_request gives one in full, and long parts in pieces', async () => {
      const body = Array.from({ length: 3_000 }, (_, index) => `item ${index}`).join(', ');
      const [record] = await tenant.write({
        url: 'https://shop.example/long',
        captured_json: toCaptureJson({
          ...EMPTY_CAPTURE,
          response_body_json: body,
          request_headers: [['x-a', '1']],
        }),
      });
      const { request_uuid } = record!;
      const first = await call('get_request', { request_uuid });
      expect([first.isError, first.text]).toEqual([false, first.text]);
      expect(first.tokens).toBeLessThanOrEqual(2_000);
      expect(first.structured.untrusted).toMatchObject({
        url: 'https://shop.example/long',
        request_headers: 'x-a: 1',
      });
      let read = String(first.structured.untrusted.response_body_json);
      let { next } = first.structured;
      expect(next).toEqual({ request_uuid, part: 'response_body_json', offset: read.length });
      while (next) {
        const result = await call('get_request', { ...next, max_tokens: 8_000 });
        expect(result.tokens).toBeLessThanOrEqual(8_000);
        read += String(result.structured.untrusted.response_body_json);
        ({ next } = result.structured);
      }
      expect(read).toBe(JSON.stringify(body));
    });

    it('metrics ranks the groups of a series over the periods that it counts', async () => {
      const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
      const other = await Tenant.create(app);
      const at = (minute: number, path: string) => ({ timestamp: hour + minute * 60_000, path });
      await other.write(...Array.from({ length: 7 }, () => at(5, '/early')));
      await other.write(...Array.from({ length: 3 }, () => at(40, '/late')));
      const theirs = await connectClient(app.url, { 'Api-Key': other.key });
      const ask = (top: number) =>
        callTool(theirs, 'metrics', {
          ...{
            since: new Date(hour + 30 * 60_000).toISOString(),
            until: new Date(hour + 50 * 60_000).toISOString(),
          },
          ...{ interval: 'hour', group_by: ['path'], metrics: ['requests'], top },
        });
      const [all, largest] = [await ask(10), await ask(1)];
      await theirs.close();
      const read = (result: ToolResponse) => readRows(result).map(({ path, requests }) => [path, requests]);
      expect(read(all)).toEqual([
        ['/early', 7],
        ['/late', 3],
      ]);
      expect([read(largest), largest.structured.left_out]).toEqual([
        [['/early', 7]],
        [expect.stringMatching(/^1 groups with 3 requests; raise top/)],
      ]);
    });

    it('metrics shows the groups of the first page of a series on all of its pages', async () => {
      const [today, hours] = [Math.floor(Date.now() / DAY_MS) * DAY_MS, 144];
      const other = await Tenant.create(app);
      // The most in all; less than the other in each of the last hours.
      await other.write(
        ...Array.from({ length: 50 }, () => ({ timestamp: today - hours * HOUR_MS, path: '/most' })),
        ...Array.from({ length: hours }, (_, n) => ({ timestamp: today - (n + 1) * HOUR_MS, path: '/most' })),
        ...Array.from({ length: hours }, (_, n) => ({
          timestamp: today - (n + 1) * HOUR_MS + 1,
          path: '/often',
        })),
        ...Array.from({ length: 40 }, () => ({ timestamp: today - HOUR_MS, path: '/often' })),
      );
      const theirs = await connectClient(app.url, { 'Api-Key': other.key });
      const seen: unknown[] = [];
      let calls = 0;
      let next: object | undefined = { since: '8d' };
      while (next && calls++ < 20) {
        const result: ToolResponse = await callTool(theirs, 'metrics', {
          ...{ interval: 'hour', group_by: ['path'], metrics: ['requests'], top: 1, max_tokens: 1_000 },
          ...next,
        });
        seen.push(...readRows(result).map(({ path }) => path));
        ({ next } = result.structured);
      }
      await theirs.close();
      expect(calls).toBeGreaterThan(2);
      expect([seen.length, new Set(seen)]).toEqual([hours, new Set(['/most'])]);
    });

    it('explain_change counts as slow what has a response time, and its shares add up', async () => {
      const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
      const other = await Tenant.create(app);
      const many = (n: number, path: string, hours: number, response_time_ms: number | null) =>
        Array.from({ length: n }, () => ({ timestamp: hour + hours * HOUR_MS, path, response_time_ms }));
      await other.write(...many(100, '/x', 0, 100), ...many(100, '/y', 0, null), ...many(10, '/z', 0, 100));
      await other.write(
        ...many(50, '/x', 1, 1_000),
        ...many(50, '/x', 1, 100),
        ...many(300, '/y', 1, null),
        ...many(10, '/z', 1, 100),
      );
      const theirs = await connectClient(app.url, { 'Api-Key': other.key });
      const result = await callTool(theirs, 'explain_change', {
        measure: 'response_time',
        since: new Date(hour + HOUR_MS).toISOString(),
        until: new Date(hour + 2 * HOUR_MS).toISOString(),
      });
      await theirs.close();
      const rows = readRows(result);
      expect(rows[0]).toMatchObject({ dimension: 'all', share: 1, slow: 50, slow_before: 0 });
      expect(rows.filter(({ dimension }) => dimension === 'endpoint')).toEqual([
        expect.objectContaining({ value: 'GET /x', share: 1, slow: 50, slow_before: 0 }),
      ]);
    });

    it('errors are grouped, the most frequent first, each with a request', async () => {
      const theirs = await Tenant.create(app);
      const at = Date.now() - HOUR_MS;
      const exception = (type: string) => ({
        status_code: 500,
        captured_json: toCaptureJson({
          ...EMPTY_CAPTURE,
          exception: { type, message: 'no price | of 7', stacktrace: '', tracker_event_id: null },
        }),
      });
      const [first] = await theirs.write(
        { timestamp: at - 2 * DAY_MS, ...exception('TypeError') },
        { timestamp: at, env: 'prod', consumer: { identifier: 'acme' }, ...exception('TypeError') },
        { timestamp: at + 1_000, consumer: { identifier: 'globex' }, ...exception('TypeError') },
        { timestamp: at, method: 'POST', ...exception('RangeError') },
      );
      const other = await connectClient(app.url, { 'Api-Key': theirs.key });
      const result = await callTool(other, 'errors');
      expect(readRows(result)).toMatchObject([
        {
          errors: 2,
          consumers: 2,
          kind: 'exception',
          type: 'TypeError',
          message: 'no price | of 7',
          path: '/users/{id}',
        },
        { errors: 1, consumers: 0, type: 'RangeError', method: 'POST' },
      ]);
      const [{ first_seen, request_uuid }] = readRows(result) as [Record<string, string>];
      expect(Date.parse(first_seen!)).toBe(first!.timestamp);
      const details = await callTool(other, 'get_request', { request_uuid });
      expect(details.text).toContain('TypeError');
      expect((await callTool(other, 'errors', { top: 1 })).structured.left_out).toEqual([
        expect.stringContaining('rarer errors'),
      ]);
      expect(readRows(await callTool(other, 'errors', { consumer: 'acme' }))).toMatchObject([{ errors: 1 }]);
      expect((await callTool(other, 'errors', { since: '1m' })).text).toContain(': none');
      await other.close();
    });

    it('explain_change names what moved and its share of the whole', async () => {
      const result = await call('explain_change', { measure: 'server_errors' });
      const rows = readRows(result);
      expect(rows[0]).toMatchObject({ dimension: 'all', now: 2, before: 0, change: 2 });
      for (const [dimension, value] of [
        ['endpoint', 'POST /orders'],
        ['consumer', 'acme'],
        ['status', 503],
      ])
        expect(rows).toContainEqual(
          expect.objectContaining({ dimension, value: String(value), change: 2, share: 1 }),
        );
      expect(result.structured.baseline).toMatchObject({ until: result.structured.window.since });
    });

    it('releases are found, group metrics, and are what explain_change begins with', async () => {
      const theirs = await Tenant.create(app);
      const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
      const at = (hours: number) => hour + hours * HOUR_MS;
      await theirs.write(...[0, 1, 2, 3, 3].map((hours) => ({ timestamp: at(hours), env: 'prod' })));
      for (const [version, hours] of [
        ['2.0', 1],
        ['2.1', 3],
      ] as const)
        await app.admin.releases.mark(theirs.appId, version, { at: at(hours) });
      const other = await connectClient(app.url, { 'Api-Key': theirs.key });
      expect(readRows(await callTool(other, 'find', { kind: 'release', query: '2.1' }))).toMatchObject([
        {
          kind: 'release',
          name: '2.1',
          detail: expect.stringMatching(/^prod, since 20/) as string,
          match: 'exact',
        },
      ]);
      const window = { since: new Date(at(0)).toISOString(), until: new Date(at(4)).toISOString() };
      const groups = await callTool(other, 'metrics', {
        ...window,
        group_by: ['app_version'],
        metrics: ['requests'],
      });
      expect(readRows(groups).map(({ app_version, requests }) => [app_version, requests])).toEqual([
        ['(all)', 5],
        ['2.0', 2],
        ['2.1', 2],
        ['(none or several)', 1],
      ]);
      const release = { measure: 'requests', since_release: '2.1', until: window.until };
      const changed = await callTool(other, 'explain_change', release);
      expect(readRows(changed)[0]).toMatchObject({ dimension: 'all', now: 2, before: 1 });
      const { body } = await theirs.post('changes', release);
      expect(body.total).toMatchObject({ now: 2, before: 1 });
      expect(Date.parse(changed.structured.window.since)).toBe(Date.parse(body.window.since));
      const unknown = await callTool(other, 'explain_change', { measure: 'requests', since_release: '2.2' });
      expect(unknown.text).toMatch(/There is no release "2.2". Nearest .*"2.1"/);
      const both = await callTool(other, 'explain_change', { ...release, since: '1h' });
      expect(both.text).toContain('exclude each other');
      await other.close();
    });

    it.each<[string, object, RegExp]>([
      ['metrics', { app: 'Shpo' }, /There is no app "Shpo"\. Nearest .*"Shop"/],
      ['metrics', { env: 'prd' }, /There is no environment "prd"\. Nearest .*"prod"/],
      ['metrics', { consumer: 'acmee' }, /There is no consumer "acmee"\. Nearest .*"acme"/],
      ['metrics', { path: '/order' }, /There is no endpoint with the path "\/order"\. Nearest .*"\/orders"/],
      ['metrics', { status: 'five' }, /status is "five"/],
      ['metrics', { timezone: 'Europe/Berln' }, /Europe\/Berlin/],
      ['metrics', { since: 'last week' }, /since is "last week".*ISO 8601.*today, yesterday/],
      ['metrics', { since: '1h', until: '2h' }, /since must be before until/],
      ['metrics', { metrics: ['p95'] }, /there is no "p95"; nearest: response_time_p95/],
      ['metrics', { enviroment: 'prod' }, /no argument "enviroment"; nearest: env/],
      ['metrics', { interval: 'hour', compare: true }, /compare/],
      ['metrics', { max_tokens: 5 }, /max_tokens/],
      ['search_requests', { filters: [{ field: 'urll', op: 'eq', value: 'x' }] }, /url/],
      [
        'search_requests',
        { filters: [{ field: 'url', op: 'gt', value: 'x' }] },
        /operator 'gt' is not supported/,
      ],
      ['search_requests', { order: 'newest', fields: ['trace_id'] }, /order newest is not possible/],
      ['search_requests', { cursor: 'x' }, /cursor is not one of next/],
      ['search_requests', { path: '/\uD800*' }, /path: must not have an unpaired surrogate/],
      ['search_requests', { method: '\uDC00' }, /method: must not have an unpaired surrogate/],
      ['get_request', { request_uuid: 'x' }, /not a UUID/],
      ['get_request', { request_uuid: '0a0b0c0d-0e0f-4a0b-8c0d-0e0f0a0b0c0d' }, /has no request/],
      ['explain_change', { measure: 'error' }, /there is no "error"; nearest: .*errors/],
      ['explain_change', { measure: 'errors', baseline_since: '1h' }, /baseline_since must be before/],
    ])('%s with %j is an error that says how to ask', async (name, args, message) => {
      const result = await call(name, args);
      expect([result.isError, result.text]).toEqual([true, expect.stringMatching(message)]);
    });

    it("shows a key nothing of another team's apps", async () => {
      const other = await Tenant.create(app);
      const [theirs] = await other.write({ path: '/theirs', url: 'https://theirs.example/' });
      const sibling = await tenant.sibling();
      for (const [name, args] of [
        ['metrics', { app: String(other.appId) }],
        ['search_requests', { app: String(other.appId) }],
        ['get_request', { app: String(other.appId), request_uuid: theirs!.request_uuid }],
        ['get_request', { app: String(tenant.appId), request_uuid: theirs!.request_uuid }],
        ['explain_change', { app: String(other.appId), measure: 'requests' }],
        ['errors', { app: String(other.appId) }],
        ['find', { app: String(other.appId) }],
      ] as const) {
        const result = await call(name, args);
        expect([name, result.isError]).toEqual([name, true]);
        expect(result.text).not.toMatch(/theirs\.|\/theirs/);
      }
      expect(
        readRows(await call('find', { query: '/theirs' })).filter(({ match }) => match !== 'similar'),
      ).toEqual([]);
      // Two apps now: one must be named.
      expect((await call('metrics')).text).toMatch(
        new RegExp(`app is required.*"Other shop" \\(${sibling.appId}\\)`),
      );
      const { id } = await app.admin.apps.create(tenant.teamId, 'Other shop', 'express');
      for (const name of ['Other shop', 'OTHER SHOP'])
        expect((await call('metrics', { app: name })).text).toMatch(
          new RegExp(`several have this name.*\\(${sibling.appId}\\).*\\(${id}\\)`),
        );
      expect((await call('metrics', { app: String(id) })).isError).toBe(false);
      // A name goes before an ID.
      await app.admin.apps.create(tenant.teamId, String(tenant.appId), 'express');
      const { text } = await call('metrics', { app: String(tenant.appId), consumer: 'acme' });
      expect(text).toContain('There is no consumer "acme"');
    });
  });
});

describe('a server configured otherwise', () => {
  it('counts each message for the rate limit of its key, and responds 429 beyond it', async () => {
    const other = await TestApp.start({ RATE_LIMIT_PER_MINUTE: '3' });
    const { key } = await other.team();
    const statuses = [];
    for (let sent = 0; sent < 4; sent++) {
      const headers = { 'Api-Key': key, ...JSON_TYPE };
      const response = await fetch(`${other.url}/mcp`, {
        method: 'POST',
        headers,
        body: JSON.stringify(LIST),
      });
      await response.text();
      statuses.push([response.status, response.headers.get('x-ratelimit-remaining')]);
    }
    expect(statuses).toEqual([
      [200, '2'],
      [200, '1'],
      [200, '0'],
      [429, '0'],
    ]);
    await other.stop();
  });

  it('has no /mcp with MCP=off, and llms.txt does not promise it', async () => {
    const other = await TestApp.start({ MCP: 'off', DOCS: 'off' });
    const { key } = await other.team();
    const response = await fetch(`${other.url}/mcp`, {
      method: 'POST',
      headers: { 'Api-Key': key },
      body: '{}',
    });
    expect([response.status, await response.json()]).toEqual([404, { detail: 'Not Found' }]);
    const text = await (await fetch(`${other.url}/llms.txt`)).text();
    expect(text).toContain('# Request Analytics API');
    expect(text).not.toMatch(/mcp|openapi/i);
    await other.stop();
  });

  it('serves pages of CORS_ORIGINS', async () => {
    const other = await TestApp.start({ CORS_ORIGINS: 'https://agent.example' });
    const { key } = await other.team();
    const headers = { 'Api-Key': key, ...JSON_TYPE, Origin: 'https://agent.example' };
    const response = await fetch(`${other.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(LIST) });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([
      200,
      'https://agent.example',
    ]);
    await response.text();
    await other.stop();
  });
});
