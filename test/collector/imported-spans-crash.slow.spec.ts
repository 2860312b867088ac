import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess, type ProgramOptions } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';
import type { LogBody, PageBody, TrafficBody } from '../setup/tenant.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const REQUESTS = 3;
/** A batch without an owner is applied after 20 seconds, and looked for at intervals. */
const COMPLETED_WITHIN_MS = 60_000;

/** The statements of one batch, with how many requests a repetition finds already stored. */
const PLACES: [place: string, statement: string, duplicates: number][] = [
  ['before the batch is in the log', 'INSERT INTO ingest_batches_v1 ', 0],
  ['between the log and the requests', 'INSERT INTO requests ', REQUESTS],
  ['between the requests and their spans', 'INSERT INTO logged_spans ', REQUESTS],
];

describeEmbedded('kill -9 within a batch of requests with spans', () => {
  let data: ReturnType<typeof dataDirectory>;

  beforeEach(() => {
    data = dataDirectory();
  });

  afterEach(async () => {
    await ProductProcess.endAll();
    data.remove();
  });

  /** An app for each place, what comes for it, and how it is imported. */
  async function createApps() {
    const { key, teamId } = await prepare(data.env, 0);
    const store = await ClickHouse.open(new Config(data.env));
    const admin = createAdmin(store);
    const apps = [];
    for (const [place, statement, duplicates] of PLACES) {
      const { id } = await admin.apps.create(teamId, 'Shop', 'express');
      const { token } = await admin.writeTokens.create(id);
      const lines = buildLines();
      const file = join(data.env.DATA_DIR!, `requests-${id}.ndjson`);
      writeFileSync(file, lines);
      const importArgs = ['import', file, '--app', String(id)];
      apps.push({ place, statement, duplicates, key, appId: id, token, lines, importArgs });
    }
    await store.close();
    return apps;
  }
  type App = Awaited<ReturnType<typeof createApps>>[number];

  function buildLines(): string {
    const start = Date.now() - 60_000;
    return Array.from({ length: REQUESTS }, (_, n) => {
      const times = { start_time_ns: start * 1e6 + n * 1000, end_time_ns: start * 1e6 + n * 1000 + 500 };
      return JSON.stringify({
        timestamp: new Date(start + n).toISOString(),
        method: 'GET',
        url: `https://shop.example.com/orders/${n}`,
        status_code: 200,
        trace_id: TRACE,
        spans: [{ span_id: `00f067aa0ba902b${n}`, name: `orders ${n}`, ...times }],
      });
    }).join('\n');
  }

  const killedAt = (statement: string): [NodeJS.ProcessEnv, ProgramOptions] => [
    { ...data.env, KILL_AT: statement },
    { nodeOptions: ['--import', './test/setup/kill-at.js'] },
  ];

  const serve = () =>
    ProductProcess.start(['serve'], {
      ...data.env,
      TRACES_RATE_LIMIT_PER_SECOND: '100',
      TRACES_RATE_LIMIT_PER_MINUTE: '1000',
    });

  async function importAgain({ importArgs }: App): Promise<object> {
    const { code, out, err } = await ProductProcess.run(importArgs, data.env);
    expect([code, code === 0 ? '' : err.join('\n')]).toEqual([0, '']);
    return JSON.parse(out[0]!) as object;
  }

  async function post(server: ProductProcess, { token, lines }: App): Promise<object> {
    const headers = { Authorization: `Bearer ${token}` };
    const request = { method: 'POST', body: lines, headers };
    return (await (await fetch(`${server.collectorUrl}/v1/requests`, request)).json()) as object;
  }

  /** How many requests and spans the server has, in all ways that show them. */
  async function count(server: ProductProcess, { appId, key }: App) {
    const at = (resource: string) => `${server.apiUrl}/v1/apps/${appId}/${resource}`;
    const headers = { 'Api-Key': key };
    const read = async <Item>(resource: string) =>
      ((await (await fetch(at(resource), { headers })).json()) as PageBody<Item>).data;
    const filters = [{ field: 'trace_id', op: 'eq', value: TRACE }];
    const traces = await fetch(at('traces'), { method: 'POST', headers, body: JSON.stringify({ filters }) });
    expect(traces.status).toBe(200);
    return {
      logged: (await read<LogBody>('request-logs')).length,
      counted: (await read<TrafficBody>('traffic')).reduce((sum, { requests }) => sum + requests, 0),
      spans: (await traces.text()).split('\n').filter((line) => line !== '').length,
    };
  }
  const WHOLE = { logged: REQUESTS, counted: REQUESTS, spans: REQUESTS };

  async function importUntilKilled({ place, statement, importArgs }: App): Promise<void> {
    const { code } = await ProductProcess.run(importArgs, ...killedAt(statement));
    expect([place, code]).toEqual([place, null]);
  }

  it('at any place of an import: the next one completes it, once', async () => {
    const apps = await createApps();
    for (const app of apps) {
      await importUntilKilled(app);
      const { place, duplicates } = app;
      const expected = { place, imported: REQUESTS - duplicates, duplicates };
      expect({ place, ...(await importAgain(app)) }).toMatchObject(expected);
    }
    const server = await serve();
    for (const app of apps)
      expect({ place: app.place, ...(await count(server, app)) }).toEqual({ place: app.place, ...WHOLE });
  });

  it('at any place of an import beside a server: the server completes it, once', async () => {
    const apps = await createApps();
    const server = await serve();
    for (const app of apps) {
      await importUntilKilled(app);
      if (app.statement.includes('logged_spans'))
        expect(await count(server, app)).toEqual({ ...WHOLE, spans: 0 });
      if (app.duplicates === 0) await importAgain(app);
    }
    for (const app of apps) {
      const isComplete = async () => (await count(server, app)).spans === REQUESTS;
      await eventually(isComplete, COMPLETED_WITHIN_MS, 1_000);
      const { place } = app;
      const again = { place, ...(await importAgain(app)) };
      expect(again).toMatchObject({ place, imported: 0, duplicates: REQUESTS });
      expect({ place, ...(await count(server, app)) }).toEqual({ place, ...WHOLE });
    }
  }, 240_000);

  it.each(PLACES)(
    '%s of a body: the next start completes it, once, and the body may come again',
    async (place, statement, duplicates) => {
      const app = (await createApps()).find((created) => created.place === place)!;
      const dying = await ProductProcess.start(['serve'], ...killedAt(statement));
      await expect(post(dying, app)).rejects.toThrow('fetch failed');
      expect(await dying.ended).toEqual([null, 'SIGKILL']);
      const server = await serve();
      expect(await count(server, app)).toEqual({
        logged: duplicates,
        counted: duplicates,
        spans: duplicates,
      });
      expect(await post(server, app)).toMatchObject({ imported: REQUESTS - duplicates, duplicates });
      expect(await count(server, app)).toEqual(WHOLE);
    },
  );
});
