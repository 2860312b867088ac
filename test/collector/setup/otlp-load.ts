import { AggregationTemporality } from '../../../src/sources/otlp/generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { Span_SpanKind } from '../../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import type { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import type { Outgoing } from './load.js';
import {
  type Signal,
  attributes,
  logs,
  metrics,
  nanosecondsAgo,
  resource,
  serverSpan,
  traces,
} from './otlp.js';

/** What the store has of a load. */
export interface OtlpTotals {
  requests: number;
  /** Of these, of a consumer, as the tables by consumer and those of minutes have it. */
  ofConsumer: number;
  ofConsumerByMinute: number;
  binned: number;
  logged: number;
  spans: number;
  messages: number;
}

const { DELTA, CUMULATIVE } = AggregationTemporality;
const MS = 1_000_000n;
const OK = { 'http.request.method': 'GET', 'http.route': '/users/:id', 'http.response.status_code': 200 };
/** Requests of the message that is sent first. */
const FIRST = 1_000;

/**
 * Bodies of an app: sampled spans of instances without a metric, log records of their traces, delta points of
 * an instance that sends spans of a consumer as well, and the points of one cumulative stream. Counts differ,
 * so that a missing one is not made up for by another that is doubled.
 *
 * @param toUrl the collector of a body, by its index
 */
export function buildOtlpLoad(
  size: number,
  token: string,
  toUrl: (index: number) => string,
): { first: Outgoing; messages: Outgoing[]; expected: OtlpTotals } {
  const expected: OtlpTotals = {
    requests: FIRST,
    ofConsumer: size,
    ofConsumerByMinute: size,
    binned: FIRST,
    logged: 0,
    spans: 0,
    messages: 0,
  };
  const send = (index: number, signal: Signal, body: Buffer): Outgoing => ({
    url: `${toUrl(index)}/v1/${signal}`,
    body,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-protobuf' },
  });
  const of = (instance: string) => ({ of: resource({ 'service.instance.id': instance }) });
  const count = (requests: number) => {
    expected.requests += requests;
    expected.binned += requests;
  };
  const streamStart = nanosecondsAgo(100_000);
  const messages = Array.from({ length: size }, (_, index) => {
    const weight = 1 + (index % 2);
    const spans = Array.from({ length: 1 + (index % 5) }, () =>
      serverSpan({}, weight === 2 ? { traceState: 'ot=th:8' } : {}),
    );
    const [{ traceId, spanId } = {}] = spans;
    const inner = serverSpan({}, { traceId, parentSpanId: spanId, kind: Span_SpanKind.INTERNAL });
    const record = {
      traceId,
      spanId,
      timeUnixNano: nanosecondsAgo(50_000),
      body: attributes({ m: 'hello' })[0]!.value,
    };
    const both = serverSpan({ 'user.id': 'alice' });
    const delta = 1 + (index % 97);
    const points = duration(delta, DELTA, index);
    // The record and the point come again in another body, as a sender that collects them anew makes it.
    const again = { ...record, spanId: inner.spanId };
    const point = duration(1, DELTA, index + size);
    count(weight * spans.length + delta + 2);
    expected.logged += spans.length + 1;
    expected.spans += spans.length + 2;
    expected.messages += 2;
    return [
      send(index, 'traces', traces([...spans, inner], of(`spans-${index % 3}`))),
      send(index + 1, 'logs', logs([record], of(`spans-${index % 3}`))),
      send(index, 'traces', traces([both], of('metric'))),
      send(index + 1, 'metrics', metrics([points], of('metric'))),
      send(index, 'metrics', metrics([point, points], of('metric'))),
      send(index, 'logs', logs([again, record], of(`spans-${index % 3}`))),
      send(index, 'metrics', metrics([duration(index + 1, CUMULATIVE, index, streamStart)], of('stream'))),
    ];
  });
  const first = send(0, 'metrics', metrics([duration(FIRST, DELTA, 0)], of('metric')));
  return { first, messages: messages.flat(), expected };
}

/** A point of the metric of durations, `atMs` milliseconds after the first one. */
function duration(
  count: number,
  aggregationTemporality: AggregationTemporality,
  atMs: number,
  startTimeUnixNano = nanosecondsAgo(60_000),
) {
  const point = {
    startTimeUnixNano,
    timeUnixNano: startTimeUnixNano + 1_000n * MS + BigInt(atMs) * MS,
    attributes: attributes(OK),
    explicitBounds: [0.01, 0.1],
    bucketCounts: [0n, BigInt(count), 0n],
    count: BigInt(count),
    sum: count * 0.05,
  };
  const value = { aggregationTemporality, dataPoints: [point] };
  return { name: 'http.server.request.duration', unit: 's', data: { case: 'histogram' as const, value } };
}

const TOTALS = `
SELECT
  (SELECT sum(n) FROM counts_per_15m_v1 WHERE app_id = {app_id:UInt32} AND measure = 'requests') AS requests,
  (SELECT sum(n) FROM counts_per_15m_by_consumer_v1 WHERE app_id = {app_id:UInt32} AND measure = 'requests') AS ofConsumer,
  (SELECT sum(n) FROM counts_per_minute_v1 WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND consumer_id != 0) AS ofConsumerByMinute,
  (SELECT sum(n) FROM counts_per_15m_v1 WHERE app_id = {app_id:UInt32} AND measure = 'time') AS binned,
  (SELECT count() FROM request_logs_v1 WHERE app_id = {app_id:UInt32}) AS logged,
  (SELECT count() FROM spans_v1 WHERE app_id = {app_id:UInt32}) AS spans,
  (SELECT uniqExact(trace_id, record_hash) FROM application_logs_v1 WHERE app_id = {app_id:UInt32}) AS messages`;

export async function readOtlpTotals(store: ClickHouse, app_id: number): Promise<OtlpTotals> {
  const [totals] = await store.rows<OtlpTotals>('test.totals', TOTALS, { app_id });
  return totals!;
}
