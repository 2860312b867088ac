import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { decode } from './encoding.js';
import { ExportMetricsServiceRequestSchema } from './generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import { ExportTraceServiceRequestSchema } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';

const MAX_VALUES = 1_500_000;
const TOO_MANY = 'body: must have at most 1500000 values';

/** A field of bytes. */
function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.from(new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish());
}

/** An export of one metric with one data point: of a histogram (9), or an exponential one (10). */
function buildExport(kind: 9 | 10, point: Uint8Array): Buffer {
  return [1, kind, 2, 2, 1].reduce<Buffer>((bytes, number) => field(number, bytes), Buffer.from(point));
}

/** A point of an exponential histogram whose positive counts are these bytes. */
const positive = (counts: Uint8Array) => buildExport(10, field(8, counts));

const decodeMetrics = (bytes: Buffer) => decode(ExportMetricsServiceRequestSchema, bytes, 'protobuf');

describe('values of a body in protobuf', () => {
  it.each([
    ['counts of buckets in one byte each', positive(field(2, Buffer.alloc(MAX_VALUES)))],
    ['counts of buckets that are not packed', positive(Buffer.alloc(2 * MAX_VALUES, '1000', 'hex'))],
    ['counts of buckets in eight bytes each', buildExport(9, field(6, Buffer.alloc(8 * MAX_VALUES)))],
    ['bounds of buckets', buildExport(9, field(7, Buffer.alloc(8 * MAX_VALUES)))],
    ['empty messages', Buffer.alloc(2 * MAX_VALUES, '0a00', 'hex')],
    // `flags`: the decoder reads the length as its value, and what follows as fields.
    [
      'empty messages behind an integer whose tag says bytes',
      buildExport(9, field(10, Buffer.alloc(2 * MAX_VALUES, '4200', 'hex'))),
    ],
  ])('are limited: %s', (_, bytes) => {
    expect(() => decodeMetrics(bytes)).toThrow(TOO_MANY);
  });

  it('are counted as what they are: counts of several bytes as one value, texts as none', () => {
    const counts = positive(field(2, Buffer.alloc(3 * 1_000_000, 'ffff7f', 'hex')));
    const [metric] = decodeMetrics(counts).resourceMetrics[0]!.scopeMetrics[0]!.metrics;
    expect(metric).toMatchObject({ data: { case: 'exponentialHistogram' } });
    const name = 'x'.repeat(2 * MAX_VALUES);
    const named = create(ExportMetricsServiceRequestSchema, {
      resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name }] }] }],
    });
    const bytes = Buffer.from(toBinary(ExportMetricsServiceRequestSchema, named));
    expect(decodeMetrics(bytes).resourceMetrics[0]!.scopeMetrics[0]!.metrics[0]!.name).toBe(name);
  });
});

describe('integers of a body in JSON', () => {
  it.each(['startTimeUnixNano', 'start_time_unix_nano'])('have at most the digits of 64 bits: %s', (name) => {
    const digits = '9'.repeat(100_000);
    for (const value of [`"${digits}"`, digits])
      expect(() => decodeSpan(`"${name}":${value}`)).toThrow(
        new RegExp(`^body: .*(?:${name}|start_time_unix_nano)[^9]*$`),
      );
  });

  it('may be longer in texts and in numbers that are no integers', () => {
    const digits = '9'.repeat(100);
    const span = decodeSpan(
      `"name":"${digits}","attributes":[{"key":"a","value":{"doubleValue":${digits}}},{"key":"b","value":{"intValue":"-9223372036854775808"}}]`,
    );
    expect(span.name).toBe(digits);
    expect(span.attributes.map(({ value }) => value?.value.value)).toEqual([1e100, -(2n ** 63n)]);
  });
});

describe('an attribute that is an integer beyond 64 bits', () => {
  it.each([
    '1e20',
    '100000000000000000001',
    '1.7976931348623157e+308',
    '-9223372036854775809',
    '"9223372036854775808"',
  ])('is a double, as it was in JavaScript: %s', (value) => {
    const span = decodeSpan(`"attributes":[{"key":"a","value":{"intValue":${value}}}]`);
    expect(span.attributes[0]?.value?.value).toEqual({
      case: 'doubleValue',
      value: Number(value.replaceAll('"', '')),
    });
  });

  it.each(['9223372036854775807', '-9223372036854775808'])('is none up to 64 bits: %s', (value) => {
    const span = decodeSpan(`"attributes":[{"key":"a","value":{"intValue":${value}}}]`);
    expect(span.attributes[0]?.value?.value).toEqual({ case: 'intValue', value: BigInt(value) });
  });
});

describe('faults of a body in JSON', () => {
  const findField = (name: string) =>
    `body: cannot decode field opentelemetry.proto.trace.v1.${name} from JSON`;

  it.each([
    ['"startTimeUnixNano":"Bearer hunter2"', findField('Span.start_time_unix_nano')],
    ['"flags":"hunter2"', findField('Span.flags')],
    ['"kind":{"hunter2":1}', 'body: cannot decode enum opentelemetry.proto.trace.v1.Span.SpanKind from JSON'],
    ['"status":"hunter2"', 'body: cannot decode message opentelemetry.proto.trace.v1.Status from JSON'],
    ['"events":"hunter2"', findField('Span.events')],
    ['"name":["hunter2"]', findField('Span.name')],
    ['"traceId":"hunter2","name":hunter2', 'body: must be valid JSON'],
  ])('name the field, never the value: %s', (members, message) => {
    expect(() => decodeSpan(members)).toThrow(new Error(message));
  });
});

function decodeSpan(members: string) {
  const text = `{"resourceSpans":[{"scopeSpans":[{"spans":[{${members}}]}]}]}`;
  const { resourceSpans } = decode(ExportTraceServiceRequestSchema, Buffer.from(text), 'json');
  return resourceSpans[0]!.scopeSpans[0]!.spans[0]!;
}
