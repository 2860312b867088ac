import { randomUUID } from 'node:crypto';
import { type Group, IngestLedger, type MessageKey } from '../../src/collector/commit/ingest.ledger.js';
import { dateTime64 } from '../../src/ingestion/ids.js';
import { type OpenStore, openStore } from '../setup/store.js';

const APP = 1;

describe('IngestLedger: what breaks off is completed, and nothing twice', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openStore();
  });
  afterAll(() => open.remove());

  const aMessage = () => ({ app_id: APP, message_uuid: randomUUID() });
  /** A group that counts one request of an endpoint and logs another. */
  const aGroup = (endpoint_id: number, messages = [aMessage(), aMessage()]): Group => {
    const timestamp = dateTime64(Date.now());
    const common = { app_id: APP, timestamp, app_env_id: 1, endpoint_id, consumer_id: 1 };
    const count = { ...common, requests: 1, bytes_received: 2, bytes_sent: 3 };
    const log = {
      ...common,
      request_uuid: randomUUID(),
      method: 'GET',
      status_code: 200,
      record: '"method":"GET","path":"/a","url":"/a","status_code":200}',
    };
    return {
      id: randomUUID(),
      createdAt: timestamp.slice(0, 19),
      messages,
      rows: { request_counts: [JSON.stringify(count)], logged_requests: [JSON.stringify(log)] },
    };
  };
  /** Requests counted and logged for an endpoint, in each table behind the doors. */
  const stored = async (endpoint_id: number) => {
    const counted = ['traffic_per_15m_v1', 'traffic_per_15m_by_consumer_v1', 'traffic_per_day_v1'].map(
      (table) => `SELECT sum(requests) AS n FROM ${table} WHERE endpoint_id = {endpoint_id:UInt32}`,
    );
    const ofEndpoint = 'SELECT request_uuid FROM request_logs_v1 WHERE endpoint_id = {endpoint_id:UInt32}';
    const logged = ['request_logs_v1', 'request_details_v1'].map(
      (table) => `SELECT count() AS n FROM ${table} WHERE request_uuid IN (${ofEndpoint})`,
    );
    const answers = [...counted, ...logged].map((sql) =>
      open.store.rows<{ n: number }>('test', sql, { endpoint_id }),
    );
    return (await Promise.all(answers)).map(([row]) => row!.n);
  };
  const fresh = async (messages: readonly MessageKey[], ledger = new IngestLedger(open.store)) => {
    const sorted = await ledger.fresh(messages);
    expect(sorted.refused.size).toBe(0);
    return sorted.fresh;
  };
  const ONCE = [1, 1, 1, 1, 1];

  it('a message that nobody logged is fresh', async () => {
    const messages = [aMessage(), aMessage()];
    expect(await fresh(messages)).toEqual(messages);
  });

  it('a message whose group went through is not', async () => {
    const [ledger, group] = [new IngestLedger(open.store), aGroup(1)];
    await ledger.log(group);
    await ledger.through(group);
    const other = aMessage();
    expect(await fresh([...group.messages, other], ledger)).toEqual([other]);
    expect(await stored(1)).toEqual(ONCE);
  });

  it.each([
    ['before the first door', 2, []],
    ['between the doors', 3, ['request_counts']],
    ['after the last door', 4, ['request_counts', 'logged_requests']],
  ] as const)(
    'a group that broke off %s is completed when one of its messages comes again',
    async (_, endpoint, doors) => {
      const group = aGroup(endpoint);
      const dead = new IngestLedger(open.store);
      await dead.log(group);
      const rows = Object.fromEntries(doors.map((door) => [door, group.rows[door]]));
      await dead.through({ ...group, rows });

      const ledger = new IngestLedger(open.store);
      expect(await fresh(group.messages.slice(0, 1), ledger)).toEqual([]);
      expect(await stored(endpoint)).toEqual(ONCE);
      await ledger.mark();
      expect(await fresh(group.messages)).toEqual([]);
      expect(await stored(endpoint)).toEqual(ONCE);
    },
  );

  it('a group that broke off in one table behind a door is completed in the others', async () => {
    const group = aGroup(5);
    await new IngestLedger(open.store).log(group);
    const view = 'traffic_per_day_mv_v1';
    const [{ create }] = (await open.store.rows<{ create: string }>(
      'test',
      `SELECT create_table_query AS create FROM system.tables WHERE name = '${view}' AND database = currentDatabase()`,
    )) as [{ create: string }];
    await open.store.command(`DROP VIEW ${view}`);
    await new IngestLedger(open.store).through(group);
    await open.store.command(create);
    await new IngestLedger(open.store).recover(0);
    expect(await stored(5)).toEqual(ONCE);
  });

  it('what broke off is completed without anybody asking, and once', async () => {
    const group = aGroup(6);
    await new IngestLedger(open.store).log(group);
    expect(await new IngestLedger(open.store).recover(3_600)).toMatchObject({ completed: 0 });
    await new IngestLedger(open.store).recover(0);
    expect(await new IngestLedger(open.store).recover(0)).toMatchObject({ completed: 0 });
    expect(await stored(6)).toEqual(ONCE);
  });

  it("a group that the engine refuses keeps neither its messages' neighbours nor other groups from the store", async () => {
    const [poisoned, broken] = [aGroup(8), aGroup(9)];
    const rows = { request_counts: ['{"app_id":"not a number"}'] };
    await new IngestLedger(open.store).log({
      ...poisoned,
      createdAt: dateTime64(Date.now() - 3_600_000).slice(0, 19),
      rows,
    });
    await new IngestLedger(open.store).log(broken);

    const ledger = new IngestLedger(open.store);
    const other = aMessage();
    const sorted = await ledger.fresh([...poisoned.messages, ...broken.messages, other]);
    expect(sorted.fresh).toEqual([other]);
    expect([...sorted.refused.keys()]).toEqual(poisoned.messages);
    expect(await stored(9)).toEqual(ONCE);

    const unharmed = aGroup(10);
    await new IngestLedger(open.store).log(unharmed);
    const recovery = await new IngestLedger(open.store).recover(0);
    expect([...recovery.refused.keys()]).toEqual([poisoned.id]);
    expect(await stored(10)).toEqual(ONCE);
  });

  it('logging a group again, when it is not known whether it was, changes nothing', async () => {
    const [ledger, group] = [new IngestLedger(open.store), aGroup(7)];
    for (let time = 0; time < 3; time++) await ledger.log(group);
    for (let time = 0; time < 3; time++) await ledger.through(group);
    expect(await stored(7)).toEqual(ONCE);
  });
});
