import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { LOOKUP_SIZE, chunk } from '../common/chunk.js';

/** Identity of a request on every ingestion path: the app and the request's UUID. */
export interface RequestKey {
  app_id: number;
  request_uuid: string;
}

/** Logged requests of all paths, and imported requests, logged or not. */
const KNOWN = `
WITH {app_ids:Array(UInt32)} AS apps, {request_uuids:Array(UUID)} AS uuids
SELECT app_id, request_uuid FROM request_details_v1 WHERE app_id IN apps AND request_uuid IN uuids
UNION ALL
SELECT app_id, request_uuid FROM import_ledger_v1 WHERE app_id IN apps AND request_uuid IN uuids`;
/**
 * Requests of one lookup, as many as fit into a statement, or on a server into a parameter, also when each has an app of its own. In
 * a large store each lookup reads most of the ledger, because UUIDs are random: fewer, larger ones are faster.
 */
const LOOKUP_SIZES = { embedded: 5_000, server: LOOKUP_SIZE };

/** Looks up which requests the store has. Every ingestion path uses it before it writes requests. */
export class KnownRequests {
  constructor(private readonly store: ClickHouse) {}

  /** The requests that the store does not have, in order, without repeated identities. */
  async filterUnknown<R extends RequestKey>(requests: readonly R[]): Promise<R[]> {
    const unknown = new Map<string, R>();
    for (const request of requests) {
      const key = requestKey(request);
      if (!unknown.has(key)) unknown.set(key, request);
    }
    for (const some of chunk([...unknown.values()], LOOKUP_SIZES[this.store.kind])) {
      const known = await this.store.rows<RequestKey>('requests.known', KNOWN, {
        app_ids: [...new Set(some.map(({ app_id }) => app_id))],
        request_uuids: some.map(({ request_uuid }) => request_uuid),
      });
      for (const request of known) unknown.delete(requestKey(request));
    }
    return [...unknown.values()];
  }
}

/** The text of a request's identity. */
export function requestKey({ app_id, request_uuid }: RequestKey): string {
  return `${app_id}/${request_uuid}`;
}
