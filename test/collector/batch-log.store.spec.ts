import { randomUUID } from 'node:crypto';
import { type Batch, BatchLog, type MessageKey, type Piece } from '../../src/write/batch-log.js';
import { COUNTS_TABLES } from '../setup/rollups.js';
import { type OpenStore, openStore } from '../setup/store.js';

const APP = 1;
/** What is counted by endpoint, and in which table. */
const COUNTED = [
  ...['requests', 'time'].flatMap((measure) =>
    COUNTS_TABLES.map((table) => [`sumIf(n, measure = '${measure}')`, table]),
  ),
  ['sum(errors)', 'errors_v1'],
  ['sum(errors)', 'error_counts_per_15m_v1'],
] as const;

describe('BatchLog', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openStore();
  });
  afterAll(() => open.remove());

  const buildMessage = () => ({ app_id: APP, message_uuid: randomUUID() });
  /** A batch that counts one request of an endpoint and logs another. */
  const buildBatch = (endpoint_id: number, messages = [buildMessage(), buildMessage()]): Batch => {
    const timestamp = Date.now();
    const common = { app_id: APP, timestamp, app_env_id: 1, endpoint_id, consumer_id: 1 };
    const count = { ...common, requests: 1, bytes_received: 2, bytes_sent: 3, bins: [['time', -80, 1]] };
    const error = { ...common, kind: 'server', type: 'E', message: 'm', stacktrace: 's', errors: 1 };
    // The environment stands in for the endpoint, which a process does not have.
    const report = {
      ...common,
      app_env_id: endpoint_id,
      cpu_percent: 1,
      memory_rss: 2,
      client: 'js:express',
    };
    const log = {
      ...common,
      request_uuid: randomUUID(),
      method: 'GET',
      status_code: 200,
      record: '"method":"GET","path":"/a","url":"/a","status_code":200}',
    };
    return {
      id: randomUUID(),
      createdAt: Math.floor(timestamp / 1000),
      messages,
      pieces: [
        { table: 'request_counts', rows: JSON.stringify(count) },
        { table: 'logged_requests', rows: JSON.stringify(log) },
        { table: 'reported_errors', rows: JSON.stringify(error) },
        { table: 'instance_reports', rows: JSON.stringify(report) },
      ],
    };
  };
  /** Requests counted and logged for an endpoint, in each table behind the landing tables. */
  const stored = async (endpoint_id: number) => {
    const counted = COUNTED.map(
      ([sum, table]) => `SELECT ${sum} AS counted FROM ${table} WHERE endpoint_id = {endpoint_id:UInt32}`,
    );
    const reported = ['instance_resources_v1', 'instance_versions_v1'].map(
      (table) => `SELECT count() AS counted FROM ${table} WHERE app_env_id = {endpoint_id:UInt32}`,
    );
    const ofEndpoint = 'SELECT request_uuid FROM request_logs_v1 WHERE endpoint_id = {endpoint_id:UInt32}';
    const logged = ['request_logs_v1', 'request_details_v1'].map(
      (table) => `SELECT count() AS counted FROM ${table} WHERE request_uuid IN (${ofEndpoint})`,
    );
    const responses = [...counted, ...reported, ...logged].map((sql) =>
      open.store.rows<{ counted: number }>('test', sql, { endpoint_id }),
    );
    return (await Promise.all(responses)).map(([row]) => row!.counted);
  };
  const filterUnseen = async (messages: readonly MessageKey[], log = new BatchLog(open.store)) => {
    const sorted = await log.filterUnseen(messages);
    expect(sorted.rejected.size).toBe(0);
    return sorted.unseen;
  };
  const ONCE = Array.from({ length: COUNTED.length + 4 }, () => 1);

  it('returns a message that was never appended as unseen', async () => {
    const messages = [buildMessage(), buildMessage()];
    expect(await filterUnseen(messages)).toEqual(messages);
  });

  it('does not return a message whose batch is applied', async () => {
    const [log, batch] = [new BatchLog(open.store), buildBatch(1)];
    await log.append(batch);
    await log.apply(batch);
    const other = buildMessage();
    expect(await filterUnseen([...batch.messages, other], log)).toEqual([other]);
    expect(await stored(1)).toEqual(ONCE);
  });

  it.each([
    ['before the first piece', 2, 0],
    ['between the pieces', 3, 1],
    ['after the last piece', 4, 4],
  ])(
    'completes a batch that was interrupted %s when one of its messages comes again',
    async (_, endpoint, applied) => {
      const batch = buildBatch(endpoint);
      const dead = new BatchLog(open.store);
      await dead.append(batch);
      await dead.apply({ ...batch, pieces: batch.pieces.slice(0, applied) });

      const log = new BatchLog(open.store);
      expect(await filterUnseen(batch.messages.slice(0, 1), log)).toEqual([]);
      expect(await stored(endpoint)).toEqual(ONCE);
      await log.markApplied();
      expect(await filterUnseen(batch.messages)).toEqual([]);
      expect(await stored(endpoint)).toEqual(ONCE);
    },
  );

  /** Runs the work while a view is missing: what it writes does not reach the table behind the view. */
  const without = async (view: string, work: () => Promise<void>) => {
    const [{ create }] = (await open.store.rows<{ create: string }>(
      'test',
      `SELECT create_table_query AS create FROM system.tables WHERE name = '${view}' AND database = currentDatabase()`,
    )) as [{ create: string }];
    await open.store.command(`DROP VIEW ${view}`);
    await work();
    await open.store.command(create);
  };

  it('completes a batch that reached some of the tables behind a landing table, and not others', async () => {
    const batch = buildBatch(5);
    await new BatchLog(open.store).append(batch);
    await without('counts_per_day_mv_v1', () => new BatchLog(open.store).apply(batch));
    await new BatchLog(open.store).recover(0);
    expect(await stored(5)).toEqual(ONCE);
  });

  it('completes interrupted batches once, without their messages', async () => {
    const batch = buildBatch(6);
    await new BatchLog(open.store).append(batch);
    expect(await new BatchLog(open.store).recover(3_600)).toMatchObject({ completed: 0 });
    await new BatchLog(open.store).recover(0);
    expect(await new BatchLog(open.store).recover(0)).toMatchObject({ completed: 0 });
    expect(await stored(6)).toEqual(ONCE);
  });

  it('stores other batches, and other messages, when the engine refuses a batch', async () => {
    const [poisoned, broken] = [buildBatch(8), buildBatch(9)];
    await new BatchLog(open.store).append({
      ...poisoned,
      createdAt: Math.floor(Date.now() / 1000) - 3_600,
      pieces: [{ table: 'request_counts', rows: '{"app_id":"not a number"}' }],
    });
    await new BatchLog(open.store).append(broken);

    const log = new BatchLog(open.store);
    const other = buildMessage();
    const sorted = await log.filterUnseen([...poisoned.messages, ...broken.messages, other]);
    expect(sorted.unseen).toEqual([other]);
    expect([...sorted.rejected.keys()]).toEqual(poisoned.messages);
    expect(await stored(9)).toEqual(ONCE);

    const unharmed = buildBatch(10);
    await new BatchLog(open.store).append(unharmed);
    const recovery = await new BatchLog(open.store).recover(0);
    expect([...recovery.rejected.keys()]).toEqual([poisoned.id]);
    expect(await stored(10)).toEqual(ONCE);
  });

  it('changes nothing when a batch is appended and applied again', async () => {
    const [log, batch] = [new BatchLog(open.store), buildBatch(7)];
    for (let time = 0; time < 3; time++) await log.append(batch);
    for (let time = 0; time < 3; time++) await log.apply(batch);
    expect(await stored(7)).toEqual(ONCE);
  });

  it('appends a batch that is larger than one statement, and completes it piece by piece', async () => {
    const batch = buildBatch(11);
    const [count, log, ...others] = batch.pieces as [Piece, Piece, ...Piece[]];
    const row = JSON.parse(log.rows) as { request_uuid: string; captured_json: string };
    const capture = JSON.stringify({ request_body_json: '"\t\\'.repeat(1_500_000) });
    const large = Array.from({ length: 4 }, (_, index) => ({
      table: log.table,
      rows: JSON.stringify({
        ...row,
        request_uuid: randomUUID(),
        ...(index > 0 && { captured_json: capture }),
      }),
    }));
    await new BatchLog(open.store).recover(0);
    await new BatchLog(open.store).append({ ...batch, pieces: [count, ...large, ...others] });
    expect(await new BatchLog(open.store).recover(0)).toMatchObject({ completed: 1 });
    expect(await stored(11)).toEqual([...ONCE.slice(0, -2), 4, 4]);
  });

  it('does not apply a batch whose header was never written', async () => {
    const batch = buildBatch(12);
    const failing = jest.spyOn(open.store, 'insertRaw').mockRejectedValueOnce(new Error('killed'));
    await expect(new BatchLog(open.store).append(batch)).rejects.toThrow('killed');
    failing.mockRestore();
    expect(await new BatchLog(open.store).recover(0)).toMatchObject({ completed: 0 });
    expect(await filterUnseen(batch.messages)).toEqual(batch.messages);
  });

  it('recovers a batch without messages, which an import writes', async () => {
    await new BatchLog(open.store).append(buildBatch(13, []));
    expect(await new BatchLog(open.store).recover(0)).toMatchObject({ completed: 1 });
    expect(await stored(13)).toEqual(ONCE);
  });

  it('does not apply a batch whose messages did not reach their table: they come again, in another batch', async () => {
    const batch = buildBatch(14);
    await without('ingest_messages_mv_v1', () => new BatchLog(open.store).append(batch));
    expect(await new BatchLog(open.store).recover(0)).toMatchObject({ completed: 0 });
    expect(await filterUnseen(batch.messages)).toEqual(batch.messages);
    await new BatchLog(open.store).write({ ...batch, id: randomUUID() });
    expect(await stored(14)).toEqual(ONCE);
  });

  it('returns messages that are in their table as unseen, if their batch did not reach the log', async () => {
    const batch = buildBatch(15);
    await new BatchLog(open.store).append(batch);
    const remove =
      'ALTER TABLE ingest_batches_v1 DELETE WHERE batch_id = {id:UUID} SETTINGS mutations_sync = 2';
    await open.store.command(remove, { id: batch.id });
    expect(await filterUnseen(batch.messages)).toEqual(batch.messages);
  });
});
