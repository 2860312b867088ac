import { create, toBinary } from '@bufbuild/protobuf';
import { finish } from '../../src/shared/async/slices.js';
import { ExportTraceServiceRequestSchema } from '../../src/sources/otlp/generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import { InnerSpans } from '../../src/write/batches/inner-spans.js';
import { Redactor } from '../../src/records/redaction/redactor.js';
import { readItems } from '../../src/sources/otlp/items.js';
import { parseTraces } from '../../src/sources/otlp/traces.parser.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const text = (value: string) => ({ value: { case: 'stringValue' as const, value } });
const texts = (count: number, value: string) =>
  Array.from({ length: count }, (_, n) => ({ key: `a${n}`, value: text(value) }));

function parseSpan(members: object) {
  const startTimeUnixNano = BigInt(NOW - 60_000) * 1_000_000n;
  const span = { traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, 1), startTimeUnixNano, ...members };
  const request = create(ExportTraceServiceRequestSchema, {
    resourceSpans: [{ scopeSpans: [{ spans: [span] }] }],
  });
  const bytes = Buffer.from(toBinary(ExportTraceServiceRequestSchema, request));
  const context = {
    digest: 'x',
    env: undefined,
    now: NOW,
    graphql: false,
    maxSpanWeight: 1,
    expansion: { remaining: 0 },
  };
  const consumers = new InnerSpans(new Redactor(null)).ofApp(1);
  const [message] = finish(parseTraces(readItems('traces', bytes, 'protobuf'), context, consumers));
  const [record] = message!.spans;
  return {
    attributes: JSON.parse(record!.attributes) as Record<string, string>,
    events: JSON.parse(record!.events) as { attributes: Record<string, string> }[],
    rejected: message!.rejected,
  };
}

describe('a span', () => {
  it('keeps values of 65,536 characters, and says that it cut one', () => {
    const { attributes, rejected } = parseSpan({
      attributes: [...texts(1, 'x'.repeat(65_537)), ...texts(0, '')],
    });
    expect(attributes.a0).toBe('x'.repeat(65_536));
    expect(rejected).toMatchObject({
      count: 0,
      warning: 'spans[].attributes: a value was cut to 65536 characters',
    });
    expect(parseSpan({ attributes: texts(1, 'x'.repeat(65_536)) }).rejected.warning).toBeUndefined();
  });

  it('has no list and no bytes that are longer', () => {
    const values = Array.from({ length: 40_000 }, () => text('x'));
    const list = { key: 'list', value: { value: { case: 'arrayValue' as const, value: { values } } } };
    expect(parseSpan({ attributes: [list] }).attributes).toEqual({ list: '<value too large>' });
  });

  it('keeps 1,024 attributes and 1,000 events', () => {
    const { attributes, events, rejected } = parseSpan({
      attributes: texts(1_100, 'v'),
      events: [70_000, ...Array.from({ length: 1_099 }, () => 1)].map((length) => ({
        name: 'e',
        attributes: texts(1, 'y'.repeat(length)),
      })),
    });
    expect([Object.keys(attributes).length, events.length]).toEqual([1_024, 1_000]);
    expect(events[0]!.attributes.a0).toHaveLength(65_536);
    expect(rejected).toMatchObject({ count: 0, warning: 'spans[].events: at most 1000 are kept' });
  });
});
