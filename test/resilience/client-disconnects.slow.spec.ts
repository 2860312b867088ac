import { type ClientRequest, request } from 'node:http';
import type { SeenQuery } from '../setup/clickhouse-server/protocol.js';
import { eventually } from '../setup/eventually.js';
import { type Operation, OutageHarness, QUERY_TIMEOUT_MS } from './outage-harness.js';

describe('a caller who leaves', () => {
  let harness: OutageHarness;

  beforeAll(async () => {
    harness = await OutageHarness.start({ CACHE_TTL_MS: '5000', QUERY_TIMEOUT_SECONDS: '10' });
  });

  afterEach(() => harness.store.heal());

  afterAll(async () => {
    await harness.stop();
  });

  const call = ({ path }: Operation): ClientRequest => {
    const outgoing = request(harness.app.url + path, { headers: { 'api-key': harness.key } });
    outgoing.on('error', () => undefined).end();
    return outgoing;
  };
  /** The last query of that name, once it is in that state. */
  const seen = (name: string, outcome: SeenQuery['outcome'], withinMs?: number) =>
    eventually(async () => {
      const last = (await harness.store.queries()).findLast((query) => query.name === name);
      return last?.outcome === outcome && last;
    }, withinMs);

  it.each(['hang', 'hang-in-body', 'slow-body'] as const)(
    'cancels the query (%s), and makes the server end it with its connection',
    async (kind) => {
      for (const operation of harness.operations.filter(({ queries }) => queries.length > 1)) {
        await harness.call(operation);
        const query = operation.queries.at(-1)!;
        await harness.store.fail({ kind }, { on: query, times: 1 });
        const outgoing = call(operation);
        await seen(query, 'running');
        outgoing.destroy();
        const { settings } = await seen(query, 'client_closed', QUERY_TIMEOUT_MS);
        expect(settings).toMatchObject({ readonly: '2', cancel_http_readonly_queries_on_client_close: '1' });
      }
      expect((await harness.callAll()).map(({ status }) => status)).toEqual(
        harness.operations.map(() => 200),
      );
    },
  );

  it('leaves others the look-up of the key that all wait for', async () => {
    const other = await OutageHarness.start({ CACHE_TTL_MS: '5000' });
    await other.store.fail({ kind: 'late', ms: 400 }, { on: 'api_keys.find', times: 1 });
    const team = other.operations[0]!;
    const first = request(other.app.url + team.path, { headers: { 'api-key': other.key } });
    first.on('error', () => undefined).end();
    await eventually(async () => (await other.store.queries()).some(({ name }) => name === 'api_keys.find'));
    const second = other.call(team);
    first.destroy();
    expect(await second).toMatchObject({ status: 200 });
    const lookUps = (await other.store.queries()).filter(({ name }) => name === 'api_keys.find');
    expect(lookUps).toMatchObject([{ outcome: 'answered' }]);
    await other.stop();
    process.env.CLICKHOUSE_URL = harness.store.url;
  });
});
