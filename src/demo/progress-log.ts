import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { hashUuid } from '../common/hash-uuid.js';

const NOTED = `
SELECT request_uuid FROM import_ledger_v1
WHERE app_id = {app_id:UInt32} AND request_uuid IN {request_uuids:Array(UUID)}`;

/**
 * Which steps of loading the sample were taken, kept across starts. A step is entered in the ledger of imports, as a
 * request would be, under a UUID made of its name; it is of another version than those of requests.
 */
export class Journal {
  private constructor(
    private readonly store: ClickHouse,
    private readonly appId: number,
    private readonly noted: Set<string>,
  ) {}

  /** @param steps all that will be asked for; a step not among them counts as not taken. */
  static async open(store: ClickHouse, appId: number, steps: readonly string[]): Promise<Journal> {
    const params = { app_id: appId, request_uuids: steps.map((step) => hashUuid(`demo ${step}`)) };
    const rows = await store.rows<{ request_uuid: string }>('demo.journal', NOTED, params);
    return new Journal(store, appId, new Set(rows.map(({ request_uuid }) => request_uuid)));
  }

  has(step: string): boolean {
    return this.noted.has(hashUuid(`demo ${step}`));
  }

  async note(step: string): Promise<void> {
    const request_uuid = hashUuid(`demo ${step}`);
    if (this.noted.has(request_uuid)) return;
    await this.store.insert('import_ledger_v1', [JSON.stringify({ app_id: this.appId, request_uuid })]);
    this.noted.add(request_uuid);
  }
}
