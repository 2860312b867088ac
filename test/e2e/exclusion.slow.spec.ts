import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { type Prepared, administer, dataDirectory, prepare } from '../setup/data-directory.js';
import { queryCsv, queryNdjson, queryParquet } from '../setup/duckdb.js';
import { eventually } from '../setup/eventually.js';
import { callTool, connectClient, readRows } from '../setup/mcp.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';
import type { LogBody, PageBody, TrafficBody } from '../setup/tenant.js';

/** The bound of the contract. */
const EFFECT_WITHIN_MS = 10_000;
const HOUR_MS = 3_600_000;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PATHS = ['/static/a_b', '/static/c/d', '/users', '/orders'];
const PATTERN = ['--method', '*', '--path', '/static/*'];

describeEmbedded('a pattern of excluded endpoints that a command sets while a server runs', () => {
  const data = dataDirectory();
  const directory = mkdtempSync(join(tmpdir(), 'exclusion-'));
  let server: ProductProcess;
  let tenant: Prepared;
  let mcp: Client;
  let token: string;
  const at = Date.now() - HOUR_MS / 2;
  const since = new Date(at - HOUR_MS).toISOString();
  const until = new Date(at + HOUR_MS).toISOString();

  beforeAll(async () => {
    tenant = await prepare(data.env, 0);
    server = await ProductProcess.start(['serve'], {
      ...data.env,
      RATE_LIMIT_PER_MINUTE: '100000',
      TRACES_RATE_LIMIT_PER_SECOND: '100',
    });
    ({ token } = await administer(data.env, (admin) => admin.writeTokens.create(tenant.appId)));
    mcp = await connectClient(server.apiUrl, { 'Api-Key': tenant.key });
    await send(...PATHS);
  });

  afterAll(async () => {
    await mcp.close();
    await ProductProcess.endAll();
    rmSync(directory, { recursive: true });
    data.remove();
  });

  /** Sends a request of each path, with a span each. */
  async function send(...paths: string[]) {
    const lines = paths.map((path, index) => {
      const spanId = Buffer.from(path).toString('hex').padEnd(16, '0').slice(-16);
      return JSON.stringify({
        timestamp: new Date(at + index).toISOString(),
        method: index % 2 === 0 ? 'GET' : 'POST',
        url: `https://shop.example${path}`,
        path,
        status_code: 500,
        exception: { type: 'TypeError', message: 'boom' },
        trace_id: TRACE,
        spans: [{ span_id: spanId, name: path, start_time_ns: at * 1e6, end_time_ns: at * 1e6 + 1 }],
      });
    });
    const headers = { Authorization: `Bearer ${token}` };
    const request = { method: 'POST', headers, body: lines.join('\n') };
    expect(await (await fetch(`${server.collectorUrl}/v1/requests`, request)).json()).toMatchObject({
      imported: paths.length,
    });
  }

  async function run(...args: string[]): Promise<unknown> {
    const { code, out, err } = await ProductProcess.run(args, data.env);
    expect([code, code === 0 ? '' : err.join('\n')]).toEqual([0, '']);
    return JSON.parse(out[0] ?? 'null');
  }

  function fetchApi(resource: string, body?: object): Promise<Response> {
    return fetch(`${server.apiUrl}/v1/apps/${tenant.appId}/${resource}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'Api-Key': tenant.key },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async function read(resource: string, body?: object): Promise<Buffer> {
    const response = await fetchApi(resource, body);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect([response.status, response.ok ? '' : bytes.toString()]).toEqual([200, '']);
    return bytes;
  }

  const readPage = async <Item>(resource: string) =>
    (JSON.parse((await read(resource)).toString()) as PageBody<Item>).data;
  const window = `start=${since}&end=${until}`;
  const SELECT = 'SELECT path FROM rows';
  const COUNT = 'SELECT sum(requests) FROM rows';

  const readExport = (options: object) =>
    read('request-logs', { since, until, fields: ['path'], ...options });

  const callRows = async (name: string, args: object) => {
    const response = await callTool(mcp, name, { since, until, ...args });
    expect([response.isError, response.isError ? response.text : '']).toEqual([false, '']);
    return readRows(response);
  };

  /** The request UUIDs of all requests that were ever in the logs, by path. */
  const uuids = new Map<string, string>();
  /** Notes those that the logs have now, and counts them. */
  const noteUuids = async () => {
    const logs = await readPage<LogBody>(`request-logs?${window}`);
    for (const { path, request_uuid } of logs) uuids.set(String(path), request_uuid);
    return logs.length;
  };
  const readDetails = async (getStatus: (uuid: string) => Promise<boolean>) => {
    const found = [];
    for (const [path, uuid] of uuids) if (await getStatus(uuid)) found.push(path);
    return found;
  };

  async function exportByCommand(
    format: string,
    query: (bytes: Buffer, sql: string) => Promise<unknown[][]>,
  ) {
    const file = join(directory, `export.${format}`);
    const app = String(tenant.appId);
    const fields = format === 'ndjson' ? [] : ['--fields', 'path'];
    await run('export', '--app', app, '--format', format, ...fields, '--output', file);
    return (await query(readFileSync(file), SELECT)).flat();
  }

  /** All ways out: each gives the paths of its requests, or how many it has. */
  const ways: Record<string, () => Promise<unknown[] | number>> = {
    'Get Request Logs': async () =>
      (await readPage<LogBody>(`request-logs?${window}`)).map(({ path }) => path),
    'Get Request Logs, one path': async () =>
      (
        await Promise.all(
          [...uuids.keys()].map((path) => readPage<LogBody>(`request-logs?${window}&path=${path}`)),
        )
      ).flatMap((page) => page.map(({ path }) => path)),
    'Get Request Details': () =>
      readDetails(async (uuid) => (await fetchApi(`request-logs/${uuid}`)).status === 200),
    'Get Traffic': async () =>
      (await readPage<TrafficBody>(`traffic?${window}&interval=hour`)).reduce(
        (sum, { requests }) => sum + requests,
        0,
      ),
    'Get Traffic by days': async () =>
      (await readPage<TrafficBody>(`traffic?interval=day`)).reduce((sum, { requests }) => sum + requests, 0),
    'Query Metrics': async () =>
      Number((await queryNdjson(await read('metrics', { since, metrics: ['requests'] }), COUNT))[0]![0]),
    'Query Metrics, groups, Parquet': async () => {
      const body = { since, metrics: ['requests'], group_by: ['path'], format: 'parquet' };
      return (await queryParquet(await read('metrics', body), [SELECT])).flat();
    },
    'Export Request Logs, NDJSON': async () => (await queryNdjson(await readExport({}), SELECT)).flat(),
    'Export Request Logs, CSV': async () =>
      (await queryCsv(await readExport({ format: 'csv' }), SELECT)).flat(),
    'Export Request Logs, Parquet': async () =>
      (await queryParquet(await readExport({ format: 'parquet' }), [SELECT])).flat(),
    'Export Request Logs, sample': async () =>
      (await queryNdjson(await readExport({ sample: 1_000 }), SELECT)).flat(),
    'Export Request Logs, filtered': async () => {
      const filters = [{ field: 'path', op: 'like', value: '/%' }];
      return (await queryNdjson(await readExport({ filters }), SELECT)).flat();
    },
    'MCP metrics': async () =>
      (await callRows('metrics', { group_by: ['path'], metrics: ['requests'] }))
        .map(({ path }) => path)
        .filter((path) => path !== '(all)'),
    'MCP search_requests, newest': async () =>
      (await callRows('search_requests', { fields: ['path'] })).map(({ path }) => path),
    'MCP search_requests, oldest': async () =>
      (await callRows('search_requests', { fields: ['path'], order: 'oldest' })).map(({ path }) => path),
    'MCP get_request': () =>
      readDetails(
        async (request_uuid) =>
          !(await callTool(mcp, 'get_request', { app: String(tenant.appId), request_uuid })).isError,
      ),
    'MCP explain_change': async () =>
      (await callRows('explain_change', { measure: 'requests', top: 50 }))
        .filter(({ dimension }) => dimension === 'endpoint')
        .map(({ value }) => String(value).split(' ').at(-1)),
    'Query Errors': async () =>
      (await queryNdjson(await read('errors', { since, until }), 'SELECT path FROM rows')).flat(),
    'MCP errors': async () => (await callRows('errors', { top: 50 })).map(({ path }) => path),
    'the command export, NDJSON': () => exportByCommand('ndjson', queryNdjson),
    'the command export, CSV': () => exportByCommand('csv', queryCsv),
    'the command export, Parquet': () =>
      exportByCommand('parquet', (bytes, sql) => queryParquet(bytes, [sql])),
  };

  const readAll = async () => {
    const all: [string, unknown][] = [];
    for (const [name, way] of Object.entries(ways)) {
      const result = await way();
      all.push([name, typeof result === 'number' ? result : result.map(String).sort()]);
    }
    return Object.fromEntries(all);
  };
  const expected = (paths: readonly string[]) =>
    Object.fromEntries(
      Object.keys(ways).map((name) => [
        name,
        /^Get Traffic|^Query Metrics$/.test(name) ? paths.length : [...paths].sort(),
      ]),
    );
  /** What the contract leaves as it is. */
  const readKept = async () => ({
    endpoints: (await readPage<{ path: string }>('endpoints')).map(({ path }) => path).sort(),
    spans: (await queryNdjson(await read('traces', { since, fields: ['name'] }), 'SELECT name FROM rows'))
      .flat()
      .sort(),
  });

  it('is left out of each way out of the server and of commands, within 10 seconds, and comes back', async () => {
    await noteUuids();
    expect([...uuids.keys()].sort()).toEqual([...PATHS].sort());
    expect(await readAll()).toEqual(expected(PATHS));
    const kept = await readKept();
    expect(kept).toEqual({ endpoints: [...PATHS].sort(), spans: [...PATHS].sort() });

    const ofApp = ['--app', String(tenant.appId)];
    expect(await run('endpoint', 'exclude', ...ofApp, ...PATTERN)).toMatchObject({ endpoints: 2 });
    await eventually(async () => (await noteUuids()) === 2, EFFECT_WITHIN_MS);
    expect(await readAll()).toEqual(expected(['/users', '/orders']));
    expect(await readKept()).toEqual(kept);

    // The endpoint of a later request matches as well.
    await send('/static/later', '/later');
    await eventually(async () => (await noteUuids()) === 3, EFFECT_WITHIN_MS);
    expect(await readAll()).toEqual(expected(['/users', '/orders', '/later']));

    expect(await run('endpoint', 'include', ...ofApp, ...PATTERN)).toMatchObject({ endpoints: 3 });
    const all = [...PATHS, '/static/later', '/later'];
    await eventually(async () => (await noteUuids()) === all.length, EFFECT_WITHIN_MS);
    expect(await readAll()).toEqual(expected(all));
  }, 120_000);
});
