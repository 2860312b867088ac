import { buffer } from 'node:stream/consumers';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import { eventually } from '../setup/eventually.js';
import { getValue, parseExposition } from '../setup/exposition.js';
import { freePort } from '../setup/free-port.js';
import { postFor, postOnly } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';
import { OutageHarness } from './outage-harness.js';

const MAX_ROWS = 1_200;
const FORMATS = ['ndjson', 'csv', 'arrow', 'parquet'] as const;
/** Filters on columns that pages are not made by: how many rows they choose is known at the end. */
const COSTLY = [{ field: 'response_time_ms', op: 'gte', value: 0 }];

describe('an export beyond the limits of the operator', () => {
  let harness: OutageHarness;
  let tenant: Tenant;
  const start = Date.now() - 86_400_000;
  const since = new Date(start).toISOString();

  beforeAll(async () => {
    const limits = { EXPORT_MAX_ROWS: String(MAX_ROWS), EXPORT_MAX_SECONDS: '5' };
    harness = await OutageHarness.start({
      QUERY_TIMEOUT_SECONDS: '20',
      METRICS_PORT: String(await freePort()),
      HOST: '127.0.0.1',
      ...limits,
    });
  });

  beforeEach(async () => {
    tenant = await Tenant.create(harness.app);
  });

  afterEach(() => harness.store.heal());
  afterAll(() => harness.stop());

  const write = (rows: number, url = 'https://x/') =>
    tenant.write(...Array.from({ length: rows }, (_, index) => ({ timestamp: start + index, url })));
  const path = () => `/v1/apps/${tenant.appId}/request-logs`;
  const post = (body: object) =>
    postFor(harness.app.url, path(), { headers: { 'Api-Key': tenant.key }, body: { since, ...body } });
  const outcomes = (format: string, outcome: string) => {
    const text = harness.app.app.get(Telemetry).metrics!.text();
    return getValue(parseExposition(text), 'request_analytics_exports_total', { format, outcome }) ?? 0;
  };

  it.each(FORMATS)('is 422 where its rows are known, and whole at the limit, as %s', async (format) => {
    await write(MAX_ROWS + 1);
    const refused = await post({ format });
    expect([refused.status, JSON.parse(refused.body.toString())]).toEqual([
      422,
      {
        detail: [
          {
            type: 'value_error',
            loc: ['body'],
            msg: `Value error, the result has more than ${MAX_ROWS} rows`,
            input: { since, format },
            ctx: { error: {} },
          },
        ],
      },
    ]);
    expect(outcomes(format, 'max_rows')).toBe(1);
    for (const less of [{ limit: MAX_ROWS }, { since: new Date(start + 1).toISOString() }])
      expect((await post({ format, ...less })).status).toBe(200);
    expect(outcomes(format, 'completed')).toBe(2);
  });

  it.each(FORMATS)('breaks off where its rows are not known, as %s', async (format) => {
    const before = outcomes(format, 'max_rows');
    await write(MAX_ROWS + 1);
    await expect(post({ format, filters: COSTLY })).rejects.toThrow();
    expect(outcomes(format, 'max_rows')).toBe(before + 1);
    expect((await post({ format, filters: COSTLY, limit: MAX_ROWS })).status).toBe(200);
    const later = new Date(start + 1).toISOString();
    expect((await post({ format, filters: COSTLY, since: later })).status).toBe(200);
  });

  it('breaks off after the seconds, while a client reads nothing, and another may begin', async () => {
    await write(1_000, `https://x/${'y'.repeat(20_000)}`);
    const open = () =>
      postOnly(harness.app.url, path(), { headers: { 'Api-Key': tenant.key }, body: { since } });
    const [first, second] = [await open(), await open()];
    expect([first.statusCode, second.statusCode]).toEqual([200, 200]);
    await eventually(() => outcomes('ndjson', 'max_seconds') === 2);
    await expect(buffer(first)).rejects.toThrow();
    await expect(buffer(second)).rejects.toThrow();
    const { status } = await post({ limit: 1 });
    expect(status).toBe(200);
    expect(harness.app.logged).toContain('a response was cut off: it takes more than 5 seconds');
  });

  it('is 504 after the seconds where nothing was found before', async () => {
    await write(1);
    const before = outcomes('arrow', 'max_seconds');
    await harness.store.fail({ kind: 'hang' }, { on: 'request_logs.export' });
    const { status, body } = await post({ format: 'arrow' });
    expect([status, body.toString()]).toEqual([504, '{"detail":"Query timed out"}']);
    await harness.store.heal();
    await eventually(() => outcomes('arrow', 'max_seconds') === before + 1);
  });
});
