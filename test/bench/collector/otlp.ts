/**
 * How fast one core takes OTLP, until the rows are encoded and into the store; the figures as JSON on
 * standard output (Linux). Rates are per second of processor time that the measured process took, engine and
 * merges included.
 */
import { randomBytes } from 'node:crypto';
import { InnerSpans } from '../../../src/write/batches/inner-spans.js';
import { Redactor } from '../../../src/records/redaction/redactor.js';
import { readItems } from '../../../src/sources/otlp/items.js';
import { Span_SpanKind } from '../../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { parseTraces } from '../../../src/sources/otlp/traces.parser.js';
import { weighSpan } from '../../../src/records/span-record.js';
import { finish } from '../../../src/shared/async/slices.js';
import { encodePieces, toCountRow, toLogRow, weighRequest } from '../../../src/write/row-encoder.js';
import { attributes, serverSpan, traces } from '../../collector/setup/otlp.js';
import type { OtlpRate } from '../sections/collector.js';
import { BenchCollector, many, ratePerCore } from './bench-collector.js';

/** The batch of OpenTelemetry's SDKs, and the requests in it. */
const SPANS_PER_BODY = 512;
const REQUESTS_PER_BODY = 128;
/** An SDK sends one body at a time. */
const SENDERS = 100;
/** The SDKs wait as `Retry-After` says. */
const PAUSE_MS = 1_000;

/** A body of spans: requests, and as many spans below each as there is room for. */
function buildSpans(requests: number): Buffer {
  const below = SPANS_PER_BODY / requests - 1;
  return traces(
    many(requests, (index) => {
      const root = serverSpan({ 'user.id': `c${index % 500}`, 'http.route': `/p/${index % 10}/:id` });
      const { traceId, spanId: parentSpanId } = root;
      const inner = many(below, () =>
        serverSpan(
          {},
          {
            ...{
              traceId,
              parentSpanId,
              spanId: randomBytes(8),
              name: 'SELECT users',
              kind: Span_SpanKind.CLIENT,
            },
            attributes: attributes({
              'db.system.name': 'postgresql',
              'db.query.text': 'SELECT * FROM users',
              rows: 3,
            }),
          },
        ),
      );
      return [root, ...inner];
    }).flat(),
  );
}
/** Spans whose rows are made in a second, as the collector makes them. */
function parsedRate(count: number): Promise<number> {
  const bodies = many(20, () => buildSpans(REQUESTS_PER_BODY));
  const ids = { app_env_id: 1, endpoint_id: 1, consumer_id: 1 };
  const consumers = new InnerSpans(new Redactor(null));
  return ratePerCore(process.pid, count * SPANS_PER_BODY, () => {
    for (let at = 0; at < count; at++) {
      const items = readItems('traces', bodies[at % bodies.length]!, 'protobuf');
      for (const message of finish(
        parseTraces(
          items,
          {
            digest: String(at),
            env: 'prod',
            now: Date.now(),
            graphql: false,
            maxSpanWeight: 1,
            expansion: { remaining: Infinity },
          },
          consumers.ofApp(1),
        ),
      )) {
        const counts = message.spanCounts.map((count) => toCountRow(1, count, ids));
        for (const piece of [
          ...finish(encodePieces('logged_spans', message.spans, (row) => ({ app_id: 1, ...row }), weighSpan)),
          ...finish(
            encodePieces('logged_requests', message.logs, (row) => toLogRow(1, row, ids), weighRequest),
          ),
          ...finish(encodePieces('request_counts', counts, (row) => row)),
        ])
          if (piece.rows === '') throw new Error('no rows');
      }
    }
    return Promise.resolve();
  });
}

const collector = await BenchCollector.start();
const spans = (count: number, requests: number) =>
  many(count, (index) => ({
    url: `${collector.url}/v1/traces`,
    body: buildSpans(requests),
    headers: {
      authorization: `Bearer ${collector.tokens[index % collector.tokens.length]}`,
      'content-type': 'application/x-protobuf',
    },
  }));
try {
  await parsedRate(200);
  const parsed = await parsedRate(1_000);
  await collector.measureRate(spans(20, REQUESTS_PER_BODY), SENDERS, PAUSE_MS);
  const mixed = await collector.measureRate(spans(300, REQUESTS_PER_BODY), SENDERS, PAUSE_MS);
  const alone = await collector.measureRate(spans(150, SPANS_PER_BODY), SENDERS, PAUSE_MS);
  const rate: OtlpRate = {
    parsed_spans_per_second: parsed,
    stored_spans_per_second: Math.round(mixed * SPANS_PER_BODY),
    stored_requests_per_second: Math.round(mixed * REQUESTS_PER_BODY),
    stored_requests_alone_per_second: Math.round(alone * SPANS_PER_BODY),
  };
  process.stdout.write(JSON.stringify(rate));
} finally {
  await collector.stop();
}
