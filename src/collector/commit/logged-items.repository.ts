import type { ClickHouse } from '../../clickhouse/clickhouse.client.js';
import { lookups } from '../../ingestion/lookups.js';

/** A logged request's identity: the UUID that its library gave it. */
export interface ItemKey {
  app_id: number;
  request_uuid: string;
}

const KNOWN = `
SELECT app_id, request_uuid FROM request_details_v1
WHERE app_id IN {app_ids:Array(UInt32)} AND request_uuid IN {request_uuids:Array(UUID)}`;

/** Which logged requests the store has. */
export class LoggedItemsRepository {
  constructor(private readonly store: ClickHouse) {}

  /** The items that are not in the store, each once. */
  async fresh<I extends ItemKey>(items: readonly I[]): Promise<I[]> {
    const distinct = new Map(items.map((item) => [keyOf(item), item]));
    for (const some of lookups([...distinct.values()])) {
      const known = await this.store.rows<ItemKey>('logged_items.known', KNOWN, {
        app_ids: [...new Set(some.map(({ app_id }) => app_id))],
        request_uuids: some.map(({ request_uuid }) => request_uuid),
      });
      for (const item of known) distinct.delete(keyOf(item));
    }
    return [...distinct.values()];
  }
}

function keyOf({ app_id, request_uuid }: ItemKey): string {
  return `${app_id}/${request_uuid}`;
}
