import type { ClickHouse } from '../store/client/clickhouse.client.js';
import { Slices } from '../shared/async/slices.js';
import { chunk, chunkForLookup } from '../shared/chunk.js';
import { findRequestUuid } from '../records/server-span.js';

/** A span, identified by its columns in the store. */
export interface StoredSpan {
  /** 32 lower-case hex digits, and 16 lower-case hex digits. */
  trace_id: string;
  span_id: string;
  /** Nanoseconds since the Unix epoch, as decimal digits. */
  start_time_ns: string;
}

/** Identity of a request on every ingestion path: the app and the request's UUID. */
export interface RequestKey {
  app_id: number;
  request_uuid: string;
  /** The span of a request that is not logged: no other row of the request is in the store. */
  unlogged_span?: StoredSpan | null;
}

/**
 * A batch of an import. UUIDs of senders are random, so each lookup reads most of the ledger beside many
 * known requests: fewer lookups read less.
 */
const REQUESTS_IN_LOOKUP = 24_000;
/**
 * The ledger knows requests that came in whole, logged or not; the details know the other logged ones. The
 * UUIDs are a subquery, because the engine handles a constant array several times. Each table has its own
 * conditions, so that the shards of a cluster get them.
 */
const KNOWN = `
WITH wanted AS (SELECT toUUID(arrayJoin(splitByChar(',', materialize({request_uuids:String})))) AS uuid)
SELECT app_id, request_uuid FROM request_details_v1
WHERE app_id IN {app_ids:Array(UInt32)} AND NOT in_ledger AND request_uuid IN (SELECT uuid FROM wanted)
UNION ALL
SELECT app_id, request_uuid FROM import_ledger_v1
WHERE app_id IN {app_ids:Array(UInt32)} AND request_uuid IN (SELECT uuid FROM wanted)`;
/** The conditions use the start of the table's sort key; names of columns are aliases too. */
const KNOWN_SPANS = `
SELECT s.app_id AS app_id, lower(hex(s.trace_id)) AS trace_id, lower(hex(s.span_id)) AS span_id,
  toString(s.start_time_ns) AS start_time_ns
FROM spans_v1 AS s
WHERE s.app_id IN {app_ids:Array(UInt32)} AND s.start_time_ns IN {starts:Array(Int64)}
  AND lower(hex(s.span_id)) IN {span_ids:Array(String)}`;

/** Looks up which requests are in the store. Every way of ingestion uses it before it writes requests. */
export class KnownRequests {
  constructor(private readonly store: ClickHouse) {}

  /** The requests that the store does not have, in order, without repeated identities. */
  async filterUnknown<R extends RequestKey>(requests: readonly R[]): Promise<R[]> {
    const unknown = new Map<string, R>();
    await new Slices().forEach(requests, (request) => {
      const key = requestKey(request);
      if (!unknown.has(key)) unknown.set(key, request);
    });
    for (const some of chunk([...unknown.values()], REQUESTS_IN_LOOKUP)) {
      const stored = await this.store.rows<RequestKey>('requests.known', KNOWN, {
        app_ids: [...new Set(some.map(({ app_id }) => app_id))],
        request_uuids: some.map(({ request_uuid }) => request_uuid).join(),
      });
      for (const request of stored) unknown.delete(requestKey(request));
    }
    await this.removeKnownSpans(unknown);
    return [...unknown.values()];
  }

  /** Removes requests that are not logged and whose span is in the store. */
  private async removeKnownSpans(requests: Map<string, RequestKey>): Promise<void> {
    const keys = [...requests.values()].flatMap(({ app_id, unlogged_span }) =>
      unlogged_span ? [{ app_id, ...unlogged_span }] : [],
    );
    for (const some of chunkForLookup(keys)) {
      const stored = await this.store.rows<StoredSpan & { app_id: number }>(
        'requests.known_spans',
        KNOWN_SPANS,
        {
          app_ids: [...new Set(some.map(({ app_id }) => app_id))],
          starts: some.map(({ start_time_ns }) => BigInt(start_time_ns)),
          span_ids: some.map(({ span_id }) => span_id),
        },
      );
      for (const { app_id, trace_id, span_id, start_time_ns } of stored)
        requests.delete(
          requestKey({ app_id, request_uuid: findRequestUuid(trace_id, span_id, BigInt(start_time_ns)) }),
        );
    }
  }
}

/** The text of a request's identity. */
export function requestKey({ app_id, request_uuid }: RequestKey): string {
  return `${app_id}/${request_uuid}`;
}
