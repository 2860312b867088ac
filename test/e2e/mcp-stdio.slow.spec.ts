import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { TestApp } from '../setup/app.js';
import { callTool, readRows } from '../setup/mcp.js';
import { ProductProcess } from '../setup/product-process.js';
import { Tenant } from '../setup/tenant.js';

describe('request-analytics mcp', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    await tenant.write({ path: '/orders', status_code: 503 }, { path: '/orders' });
  });
  afterAll(() => app.stop());

  /** The SDK's own client, connected to the command. */
  const connect = async (env: Record<string, string>, mode: 'legacy' | 'auto' = 'legacy') => {
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ['dist/cli.cjs', 'mcp'],
      env: { PATH: process.env.PATH!, ...env },
      stderr: 'ignore',
    });
    await client.connect(transport);
    return client;
  };

  it.each(['legacy', 'auto'] as const)(
    'offers the tools of a service to a client of version %s',
    async (mode) => {
      const client = await connect({ API_URL: `${app.url}/`, API_KEY: tenant.key }, mode);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        'find',
        'metrics',
        'search_requests',
        'get_request',
        'explain_change',
        'errors',
      ]);
      const result = await callTool(client, 'metrics', { metrics: ['requests', 'server_errors'] });
      expect(readRows(result)).toEqual([{ requests: 2, server_errors: 1 }]);
      expect(await callTool(client, 'metrics', { path: '/ordres' })).toMatchObject({
        isError: true,
        text: expect.stringContaining('"/orders"'),
      });
      expect(await callTool(client, 'metrics', { metrics: ['p95'] })).toMatchObject({
        isError: true,
        text: expect.stringContaining('response_time_p95'),
      });
      await client.close();
    },
  );

  it('says that the key is wrong', async () => {
    const client = await connect({ API_URL: app.url, API_KEY: `aaaaaaa.${'x'.repeat(32)}` });
    expect(await callTool(client, 'metrics')).toMatchObject({
      isError: true,
      text: 'The service responded 401: Invalid API key. API_KEY is wrong, expired or revoked.',
    });
    await client.close();
  });

  it('says what is wrong with the address, and follows no redirect with the key', async () => {
    const responses: [status: number, headers: Record<string, string>, body: string, why: RegExp][] = [
      [307, { Location: `${app.url}/mcp` }, '', /cannot be reached \(unexpected redirect\)/],
      [
        429,
        { 'Retry-After': '7' },
        '{"detail":"Rate limit exceeded"}',
        /429: Rate limit exceeded\. Call again in 7 s/,
      ],
      [404, {}, '{"detail":"Not Found"}', /responded 404.*MCP=off/],
      [200, {}, '<html>', /responded 200: no result/],
    ];
    let current = responses[0]!;
    const other = createServer((_, response) => {
      const [status, headers, body] = current;
      response.writeHead(status, headers).end(body);
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const client = await connect({ API_URL: url, API_KEY: tenant.key });
    for (current of responses) {
      const { isError, text } = await callTool(client, 'metrics');
      expect([isError, text]).toEqual([true, expect.stringMatching(current[3])]);
    }
    other.closeAllConnections();
    other.close();
    await once(other, 'close');
    expect((await callTool(client, 'metrics')).text).toMatch(/cannot be reached \(ECONN(REFUSED|RESET)\)/);
    await client.close();
  });

  it('ends with 78 and one line without a key', async () => {
    const { code, out, err } = await ProductProcess.run(['mcp'], { API_URL: app.url });
    expect([code, out, err]).toEqual([78, [], ['error: Invalid configuration. API_KEY: must be set']]);
  });
});
