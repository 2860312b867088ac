import { randomUUID } from 'node:crypto';
import type { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import type { ClientApps } from '../../src/access/tokens/client-apps.js';
import { NameRegistry } from '../../src/records/names/name-registry.js';
import { createMessage } from '../../src/sources/intake/create-message.js';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import { BatchLog } from '../../src/write/batch-log.js';
import { type AppMessage, BatchBuilder } from '../../src/write/batches/batch-builder.js';
import { BatchCommitter } from '../../src/write/batches/batch-committer.js';
import { InnerSpans } from '../../src/write/batches/inner-spans.js';
import { Redactor } from '../../src/records/redaction/redactor.js';
import { InstanceCounts } from '../../src/write/batches/instance-counts.js';
import { IntervalDays } from '../../src/write/batches/interval-days.js';
import { MessageLocks } from '../../src/write/batches/message-locks.js';
import { TraceExceptions } from '../../src/write/batches/trace-exceptions.js';
import { RepeatedRecords } from '../../src/write/batches/repeated-records.js';
import { ApiDocuments } from '../../src/write/batches/api-documents.js';
import { KnownRequests } from '../../src/write/known-requests.js';
import { RequestClaims } from '../../src/write/request-claims.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, createApp, openStore } from '../setup/store.js';

/** Longer than claims are held. */
const OUTAGE_MS = 61_000;

describe('a batch whose outcome is unknown until its claims have expired', () => {
  let open: OpenStore;
  let coordinator: LocalCoordinator;
  let committers: BatchCommitter[];

  beforeAll(async () => {
    open = await openStore();
  });

  beforeEach(() => {
    coordinator = new LocalCoordinator();
    committers = [];
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const committer of committers) await committer.close();
  });

  afterAll(() => open.remove());

  /** The committer of a collector with a connection of its own. */
  function connect(store: ClickHouse): BatchCommitter {
    const builder = new BatchBuilder(
      NameRegistry.create(store, coordinator),
      {} as ClientApps,
      new KnownRequests(store),
      new InstanceCounts(store, 0),
      new IntervalDays(store),
      new RepeatedRecords(store),
      new ApiDocuments(store),
      new InnerSpans(new Redactor(null)),
    );
    const committer = new BatchCommitter(
      new BatchLog(store, coordinator),
      builder,
      new InstanceCounts(store, 0),
      new TraceExceptions(store, 0),
      new MessageLocks(coordinator),
      new RequestClaims(coordinator),
      Telemetry.none,
    );
    committers.push(committer);
    return committer;
  }

  function buildMessage(app_id: number, request = buildRequest({})): AppMessage {
    const uuid = randomUUID();
    const app = { id: app_id, team_id: 1, framework: '', disabled: false, graphql: false };
    return { app_id, message_uuid: uuid, app, message: { ...createMessage(uuid, 'prod'), logs: [request] } };
  }

  const countLogs = async (app_id: number) => {
    const sql = 'SELECT count() AS logs FROM request_logs_v1 WHERE app_id = {app_id:UInt32}';
    return (await open.store.rows<{ logs: number }>('test.logs', sql, { app_id }))[0]?.logs;
  };

  it.each([
    ['was lost on its way', false],
    ['reached the log', true],
  ])('is not written again beside what another collector wrote meanwhile, if it %s', async (_, arrives) => {
    const appId = await createApp(open.store);
    const outage = { isOver: false };
    const cut = Object.assign(Object.create(open.store) as ClickHouse, {
      insertRaw: async (...args: Parameters<ClickHouse['insertRaw']>) => {
        if (outage.isOver || arrives) await open.store.insertRaw(...args);
        if (!outage.isOver) throw new StoreUnavailable('the connection was lost');
      },
    });
    const [first, second] = [connect(cut), connect(open.store)];
    const shared = buildRequest({});
    const message = buildMessage(appId, shared);
    await expect(first.commit(message, 1)).rejects.toThrow(StoreUnavailable);
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + OUTAGE_MS);
    // As a collector does every few seconds.
    await second.recover(0);
    await second.commit(buildMessage(appId, shared), 1);
    outage.isOver = true;
    await first.commit(buildMessage(appId), 1);
    expect(await countLogs(appId)).toBe(2);
    // The sender got a 503 and sends it again.
    await first.commit(message, 1);
    expect(await countLogs(appId)).toBe(2);
  });
});
