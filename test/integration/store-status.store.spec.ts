import { createAdmin } from '../../src/ops/admin/admin.js';
import { readStatus } from '../../src/ops/admin/store-status.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, createApp, openStore } from '../setup/store.js';

const UTC_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('The status of a store', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openStore();
  });

  afterAll(() => open.remove());

  it('shows what is stored, when data arrived last, and the size of each table', async () => {
    const appId = await createApp(open.store);
    const oldest = Date.now() - 3_600_000;
    const before = await readStatus(open.store);
    await RequestsWriter.create(open.store).write(appId, [
      buildRequest({ env: 'prod', timestamp: oldest }),
      buildRequest({ env: 'prod', timestamp: oldest + 1_000 }),
    ]);
    const [environment] = await createAdmin(open.store).apps.listEnvironments(appId);
    expect(environment).toMatchObject({
      name: 'prod',
      last_sync_at: expect.stringMatching(UTC_MILLISECONDS),
    });

    const { stored, environments, tables } = await readStatus(open.store);
    const findRows = (kinds: typeof stored, wanted: string) =>
      kinds.find(({ kind }) => kind === wanted)?.rows ?? 0;
    expect(findRows(stored, 'request logs') - findRows(before.stored, 'request logs')).toBe(2);
    for (const { kind, rows, since } of stored)
      expect([kind, since]).toEqual([kind, rows === 0 ? null : expect.stringMatching(UTC_MILLISECONDS)]);
    expect(environments).toContainEqual({
      app_id: appId,
      app: 'Shop',
      env_id: environment!.id,
      env: 'prod',
      last_sync_at: environment!.last_sync_at,
    });
    const logs = tables.find(({ table }) => table === 'request_logs_v1');
    expect(logs?.rows).toBe(findRows(stored, 'request logs'));
    expect(logs?.bytes).toBeGreaterThan(0);
    expect(logs?.parts).toBeGreaterThan(0);
  });

  it('shows stored spans, with the time of the oldest', async () => {
    const appId = await createApp(open.store);
    const buildSpan = (start_time_ns: bigint) =>
      `{"app_id":${appId},"start_time_ns":"${start_time_ns}","trace_id":"${'ab'.repeat(16)}","span_id":"${'cd'.repeat(8)}","kind":"SERVER","status":"OK","attributes":"{}","events":"[]"}`;
    // Older than what other tests write.
    const oldest = BigInt(Date.now() - 14 * 86_400_000) * 1_000_000n;
    const before = (await readStatus(open.store)).stored.find(({ kind }) => kind === 'spans')?.rows ?? 0;
    await open.store.insert('logged_spans', [
      buildSpan(oldest + 999_999n),
      buildSpan(oldest + 60_000_000_000n),
    ]);
    const { stored, tables } = await readStatus(open.store);
    const since = new Date(Number(oldest / 1_000_000n)).toISOString();
    expect(stored).toContainEqual({ kind: 'spans', rows: before + 2, since });
    expect(stored.map(({ kind }) => kind).slice(0, 2)).toEqual(['request logs', 'request details']);
    expect(stored.map(({ kind }) => kind)).toContain('application logs');
    const spans = tables.find(({ table }) => table === 'spans_v1');
    expect(spans).toEqual({
      table: 'spans_v1',
      rows: before + 2,
      bytes: expect.any(Number) as number,
      parts: expect.any(Number) as number,
    });
  });
});
