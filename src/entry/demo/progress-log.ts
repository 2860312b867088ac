import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { hashUuid } from '../../shared/hash-uuid.js';

const DONE = `
SELECT request_uuid FROM import_ledger_v1
WHERE app_id = {app_id:UInt32} AND request_uuid IN {request_uuids:Array(UUID)}`;

/**
 * Completed steps of loading the sample, persistent across starts. A step is recorded in the import ledger,
 * like a request, under a UUID made of its name, with another version than the UUIDs of requests.
 */
export class SeedProgress {
  private constructor(
    private readonly store: ClickHouse,
    private readonly appId: number,
    private readonly done: Set<string>,
  ) {}

  /** @param steps all steps that will be checked; any other counts as not completed. */
  static async open(store: ClickHouse, appId: number, steps: readonly string[]): Promise<SeedProgress> {
    const params = { app_id: appId, request_uuids: steps.map((step) => hashUuid(`demo ${step}`)) };
    const rows = await store.rows<{ request_uuid: string }>('demo.progress', DONE, params);
    return new SeedProgress(store, appId, new Set(rows.map(({ request_uuid }) => request_uuid)));
  }

  isDone(step: string): boolean {
    return this.done.has(hashUuid(`demo ${step}`));
  }

  async markDone(step: string): Promise<void> {
    const request_uuid = hashUuid(`demo ${step}`);
    if (this.done.has(request_uuid)) return;
    await this.store.insert('import_ledger_v1', [JSON.stringify({ app_id: this.appId, request_uuid })]);
    this.done.add(request_uuid);
  }
}
