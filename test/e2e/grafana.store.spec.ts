import { TestApp } from '../setup/app.js';
import { queryCsv } from '../setup/duckdb.js';
import { type Dashboard, readDashboard } from '../setup/grafana.js';
import { Tenant } from '../setup/tenant.js';

const HOUR_MS = 3_600_000;

type Query = NonNullable<Exclude<Dashboard['templating']['list'][number]['query'], string>['infinityQuery']>;

/** What Grafana makes of variables in a text: `${name}` and `${__from:date:iso}`. */
const interpolate = (text: string, values: Readonly<Record<string, string>>) =>
  text.replaceAll(/\$\{([\w:]+)\}/g, (variable, name: string) => values[name] ?? variable);

describe("Grafana's data source Infinity", () => {
  let app: TestApp;
  let tenant: Tenant;
  const { panels, templating } = readDashboard('infinity');
  const now = Date.now();
  const values = () => ({
    '__from:date:iso': new Date(now - 3 * HOUR_MS).toISOString(),
    '__to:date:iso': new Date(now).toISOString(),
    app: String(tenant.appId),
    env: templating.list.find(({ name }) => name === 'env')!.allValue!,
    interval: 'hour',
  });

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    await tenant.write(
      ...Array.from({ length: 30 }, (_, index) => ({
        timestamp: now - (index % 3) * 30 * 60_000 - 60_000,
        env: ['prod', 'test'][index % 2]!,
        consumer: { identifier: `c${index % 4}` },
        status_code: [200, 200, 404, 500][index % 4]!,
        response_time_ms: 10 * index,
        request_size_bytes: 10,
        response_size_bytes: 100,
      })),
    );
  });
  afterAll(() => app.stop());

  /** Sends a query as the data source does, version 3.11, with the key as a header. */
  const send = async ({ type, url, url_options }: Query, variables: Readonly<Record<string, string>>) => {
    const path = interpolate(url, variables);
    const request =
      url_options.method === 'POST'
        ? app.post(path, tenant.key, interpolate(url_options.data!, variables))
        : app.get(path, tenant.key);
    if (url_options.body_content_type) void request.set('Content-Type', url_options.body_content_type);
    const response = await request
      .set('Accept', type === 'csv' ? 'text/csv; charset=utf-8' : 'application/json;q=0.9,text/plain')
      .set('Accept-Encoding', 'gzip');
    expect([response.status, response.text]).toEqual([200, response.text]);
    expect(response.headers).not.toHaveProperty('x-ignored-parameters');
    return response;
  };

  /** Rows as the data source makes them of CSV: values of the columns, each of its type. */
  const readRows = async (
    query: Query,
    variables: Readonly<Record<string, string>>,
  ): Promise<Record<string, string | number | null>[]> => {
    const { headers, text } = await send(query, variables);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    const selectors = query.columns.map(({ selector }) => `"${selector}"`);
    const rows = await queryCsv(Buffer.from(text), `SELECT ${selectors.join()} FROM rows`);
    return rows.map((row) =>
      Object.fromEntries(
        query.columns.map(({ text: name, type }, index) => {
          const value = row[index] as string | null;
          if (type === 'string' || value === null) return [name, value];
          const number = type === 'timestamp' ? Date.parse(value) : Number(value);
          expect([name, value, Number.isFinite(number)]).toEqual([name, value, true]);
          return [name, number];
        }),
      ),
    );
  };

  const queriesOf = (title: string) =>
    panels.find((panel) => panel.title === title)!.targets as unknown as Query[];

  it.each(panels.map(({ title }) => title))('gets the columns of the panel %s', async (title) => {
    const queries = queriesOf(title);
    expect(queries.length).toBeGreaterThan(0);
    for (const query of queries)
      for (const interval of ['minute', 'hour', 'day'])
        expect(await readRows(query, { ...values(), interval })).not.toHaveLength(0);
  });

  it('gets the numbers of the time range and of the environment', async () => {
    const [requests] = queriesOf('Requests');
    expect(await readRows(requests!, values())).toEqual([{ requests: 30 }]);
    expect(await readRows(requests!, { ...values(), env: 'prod' })).toEqual([{ requests: 15 }]);
    const [byStatus] = queriesOf('Requests by status');
    const rows = await readRows(byStatus!, { ...values(), interval: 'minute' });
    expect(new Set(rows.map((row) => row.Time)).size).toBe(3);
    expect(new Set(rows.map((row) => row.status_class))).toEqual(new Set(['2xx', '4xx', '5xx']));
    expect(rows.reduce((sum: number, row) => sum + Number(row.requests), 0)).toBe(30);
  });

  it('gets the values of the variables', async () => {
    const queryOf = (wanted: string) =>
      (templating.list.find(({ name }) => name === wanted)!.query as { infinityQuery: Query }).infinityQuery;
    const apps = queryOf('app');
    const { body } = await send(apps, values());
    const [first] = (body as Record<string, Record<string, unknown>[]>)[apps.root_selector]!;
    expect(apps.columns.map(({ selector, text }) => [text, first![selector]])).toEqual([
      ['__text', 'Shop'],
      ['__value', tenant.appId],
    ]);
    const envs = await readRows(queryOf('env'), values());
    expect(envs.sort((env, other) => String(env.__text).localeCompare(String(other.__text)))).toEqual([
      { __text: 'prod', __value: 'prod' },
      { __text: 'test', __value: 'test' },
    ]);
  });
});
