import { chunk } from '../../shared/chunk.js';
import type { Parameters } from '../../store/client/query-parameters.js';
import { getSpanHalf, hashSpan } from '../../records/server-span.js';

/** A span of a trace that several consumers share. IDs are lower-case hex. */
interface SharedSpan {
  trace: string;
  span: string;
  parent: string;
  is_server: 0 | 1;
  /** Whether an attribute is the identifier of the erased consumer. */
  names_it: 0 | 1;
  /** Whether an attribute is the identifier of any consumer. */
  names_one: 0 | 1;
}

interface SharedRequest {
  request_uuid: string;
  trace: string;
  /** 0: none. */
  consumer_id: number;
  /** The captured spans that belong to the request. */
  spans: string[];
}

/** The owner of a span: the erased consumer, or another one. */
type Owner = 'erased' | 'other';

/** Spans by trace and span ID, as one text. */
export interface ErasedSpans {
  /**
   * Spans to be deleted, each before the spans above it: after an interruption the remaining ones are found
   * through those.
   */
  spans: string[];
  /**
   * Spans whose log records are to be deleted: these spans, and spans of its requests that are not stored.
   */
  ofLogs: string[];
}

/** Traces whose spans are in memory at the same time. */
const TRACES_AT_ONCE = 50;
const OF_TRACES = 'app_id = {app_id:UInt32} AND lower(hex(trace_id)) IN {traces:Array(String)}';
const SPANS = (namesIt: string, namesOne: string) => `
SELECT lower(hex(trace_id)) AS trace, lower(hex(span_id)) AS span, lower(hex(parent_span_id)) AS parent,
  kind = 'SERVER' AS is_server, (${namesIt}) AS names_it, (${namesOne}) AS names_one
FROM spans_v1 WHERE ${OF_TRACES}`;
/** No JSON string contains such a name unescaped. */
const REQUESTS = `
SELECT toString(l.request_uuid) AS request_uuid, lower(hex(l.trace_id)) AS trace, l.consumer_id AS consumer_id,
  extractAll(d.captured_json, '"span_id":"([0-9a-f]{16})"') AS spans
FROM (SELECT request_uuid, trace_id, consumer_id FROM request_logs_v1 WHERE ${OF_TRACES}) AS l
LEFT JOIN (
  SELECT request_uuid, captured_json FROM request_details_v1
  WHERE app_id = {app_id:UInt32} AND request_uuid IN (SELECT request_uuid FROM request_logs_v1 WHERE ${OF_TRACES})
) AS d ON d.request_uuid = l.request_uuid`;
const SERVER_SPANS_OF_LOGS = `
SELECT DISTINCT lower(hex(trace_id)) AS trace, lower(hex(server_span_id)) AS span
FROM application_logs_v1 WHERE ${OF_TRACES} AND server_span_id != toFixedString('', 8)`;

/**
 * The spans of a consumer in traces that it shares with others: spans of its requests, spans that name it,
 * and the spans below them, except those below a request of another consumer.
 *
 * @param names in SQL, whether a span names the consumer, and whether it names any consumer
 */
export async function findSharedSpans(
  read: <Row>(sql: string, params: Parameters) => Promise<Row[]>,
  traces: readonly string[],
  { app_id, ids, identifier }: { app_id: number; ids: readonly number[]; identifier: string },
  names: { it: string; anyConsumer: string },
): Promise<ErasedSpans> {
  const found: ErasedSpans = { spans: [], ofLogs: [] };
  for (const some of chunk(traces, TRACES_AT_ONCE)) {
    const params = { app_id, identifier, traces: some };
    const requests = await read<SharedRequest>(REQUESTS, params);
    const owners = requests.flatMap(({ consumer_id, ...request }) => {
      if (consumer_id === 0) return [];
      return [{ ...request, owner: ids.includes(consumer_id) ? ('erased' as const) : ('other' as const) }];
    });
    const ownerByHalf = new Map(owners.map(({ request_uuid, owner }) => [getSpanHalf(request_uuid), owner]));
    const stored = await read<SharedSpan>(SPANS(names.it, names.anyConsumer), params);
    const marked = new Map<string, Owner>();
    const mark = (key: string, owner: Owner) => {
      if (marked.get(key) !== 'other') marked.set(key, owner);
    };
    for (const { trace, spans, owner } of owners) for (const span of spans) mark(trace + span, owner);
    for (const span of stored) {
      const owner = findOwner(span, ownerByHalf);
      if (owner) mark(span.trace + span.span, owner);
    }
    const erased = findBelow(stored, marked).reverse();
    found.spans = found.spans.concat(erased);
    found.ofLogs = found.ofLogs.concat(erased);
    for (const { trace, span } of await read<SharedSpan>(SERVER_SPANS_OF_LOGS, params))
      if (ownerByHalf.get(hashSpan(trace, span)) === 'erased') found.ofLogs.push(trace + span);
  }
  return found;
}

function findOwner(
  { trace, span, is_server, names_it, names_one }: SharedSpan,
  ownerByHalf: ReadonlyMap<string, Owner>,
): Owner | undefined {
  const logged = is_server ? ownerByHalf.get(hashSpan(trace, span)) : undefined;
  if (logged) return logged;
  if (names_it) return 'erased';
  // This request was not logged.
  return is_server && names_one ? 'other' : undefined;
}

/**
 * The marked spans of the erased consumer and the spans below them, without spans of other consumers and the
 * spans below those.
 */
function findBelow(spans: readonly SharedSpan[], marked: ReadonlyMap<string, Owner>): string[] {
  const children = new Map<string, string[]>();
  for (const { trace, span, parent } of spans) {
    const siblings = children.get(trace + parent);
    if (siblings) siblings.push(trace + span);
    else children.set(trace + parent, [trace + span]);
  }
  const found = new Set(Array.from(marked).flatMap(([key, owner]) => (owner === 'erased' ? [key] : [])));
  // A Set's iteration includes values added during it, each once. So a cycle of parents ends.
  for (const key of found)
    for (const child of children.get(key) ?? []) if (marked.get(child) !== 'other') found.add(child);
  return [...found];
}
