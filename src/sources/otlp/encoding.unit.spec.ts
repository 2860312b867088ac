import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type Encoding, encode } from './encoding.js';
import { ExportLogsServiceRequestSchema } from './generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.js';
import { ExportMetricsServiceRequestSchema } from './generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import { ExportTraceServiceRequestSchema } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import { AggregationTemporality } from './generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { type Signal, readItems } from './items.js';

const MAX_VALUES = 50_000;
const TOO_MANY = 'must have at most 50000 values';

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

/** The items and faults of a body. */
function read<S extends Signal>(signal: S, bytes: Buffer, encoding: Encoding = 'protobuf') {
  const parts = [...readItems(signal, bytes, encoding)];
  return {
    items: parts.flatMap((part) => (part?.kind === 'item' ? [part.item] : [])),
    faults: parts.flatMap((part) => (part?.kind === 'fault' ? [part.fault] : [])),
  };
}

describe('values of an item in protobuf', () => {
  it.each([
    ['counts of buckets in one byte each', positive(field(2, Buffer.alloc(MAX_VALUES)))],
    ['counts of buckets that are not packed', positive(Buffer.alloc(2 * MAX_VALUES, '1000', 'hex'))],
    ['counts of buckets in eight bytes each', buildExport(9, field(6, Buffer.alloc(8 * MAX_VALUES)))],
    ['bounds of buckets', buildExport(9, field(7, Buffer.alloc(8 * MAX_VALUES)))],
    // `flags`: the decoder reads the length as its value, and what follows as fields.
    [
      'empty messages behind an integer whose tag says bytes',
      buildExport(9, field(10, Buffer.alloc(2 * MAX_VALUES, '4200', 'hex'))),
    ],
  ])('are limited: %s', (_, bytes) => {
    expect(read('metrics', bytes).faults).toEqual([`data_points[]: ${TOO_MANY}`]);
  });

  it('are counted as what they are: counts of several bytes as one value, texts as none', () => {
    const counts = positive(field(2, Buffer.alloc(3 * 40_000, 'ffff7f', 'hex')));
    expect(read('metrics', counts).items).toMatchObject([{ data: { case: 'exponentialHistogram' } }]);
    const name = 'x'.repeat(2 * MAX_VALUES);
    const named = create(ExportMetricsServiceRequestSchema, {
      resourceMetrics: [
        { scopeMetrics: [{ metrics: [{ name, data: { case: 'gauge', value: { dataPoints: [{}] } } }] }] },
      ],
    });
    const bytes = Buffer.from(toBinary(ExportMetricsServiceRequestSchema, named));
    expect(read('metrics', bytes).items).toMatchObject([{ name }]);
  });
});

/** An export with a resource, two scopes and these items. */
const SHAPES = {
  traces: (items: object[]) =>
    create(ExportTraceServiceRequestSchema, {
      resourceSpans: [{ resource: RESOURCE, scopeSpans: [SCOPE, { ...SCOPE, spans: items }] }],
    }),
  logs: (items: object[]) =>
    create(ExportLogsServiceRequestSchema, {
      resourceLogs: [{ resource: RESOURCE, scopeLogs: [SCOPE, { ...SCOPE, logRecords: items }] }],
    }),
  metrics: (items: object[]) =>
    create(ExportMetricsServiceRequestSchema, {
      resourceMetrics: [{ resource: RESOURCE, scopeMetrics: [SCOPE, { ...SCOPE, metrics: items }] }],
    }),
};
const RESOURCE = { attributes: [{ key: 'a', value: { value: { case: 'intValue' as const, value: 1n } } }] };
const SCOPE = { scope: { name: 'n', version: 'v' }, schemaUrl: 's' };
const SCHEMAS = {
  traces: ExportTraceServiceRequestSchema,
  logs: ExportLogsServiceRequestSchema,
  metrics: ExportMetricsServiceRequestSchema,
};
const NAMES = {
  traces: { resources: 'resourceSpans', scopes: 'scopeSpans', items: 'spans' },
  logs: { resources: 'resourceLogs', scopes: 'scopeLogs', items: 'logRecords' },
  metrics: { resources: 'resourceMetrics', scopes: 'scopeMetrics', items: 'metrics' },
};
const NAMED = {
  traces: (name: string, attributes: object[]) => ({ name, attributes }),
  logs: (name: string, attributes: object[]) => ({ eventName: name, attributes }),
  metrics: (name: string, attributes: object[]) => ({ name, metadata: attributes }),
};
const attributes = (count: number) => Array.from({ length: count }, (_, n) => ({ key: `a${n}` }));

describe.each(['traces', 'logs', 'metrics'] as const)('the items of %s', (signal) => {
  const build = (items: object[], encoding: Encoding): Buffer =>
    encode(SCHEMAS[signal], SHAPES[signal](items) as never, encoding);
  const named = NAMED[signal];

  it.each(['protobuf', 'json'] as const)(
    'are read one by one, with their resource and scope: %s',
    (encoding) => {
      const body = build([named('x"}],', attributes(1)), named('y\\', [])], encoding);
      const parts = [...readItems(signal, body, encoding)].filter((part) => part !== undefined);
      expect(parts).toMatchObject([
        { kind: 'resource', resource: RESOURCE, scopes: ['n', 'n'] },
        { kind: 'scope', ...SCOPE },
        { kind: 'scope', ...SCOPE },
        { kind: 'item', item: named('x"}],', attributes(1)) },
        { kind: 'item', item: named('y\\', []) },
      ]);
    },
  );

  it.each(['protobuf', 'json'] as const)(
    'have 50,000 values each, and others are left out: %s',
    (encoding) => {
      const body = build([named('x', attributes(50_001)), named('y', attributes(3_000))], encoding);
      const { items, faults } = read(signal, body, encoding);
      expect(items).toMatchObject([named('y', attributes(3_000))]);
      expect(faults).toEqual([
        expect.stringMatching(/^(spans|log_records|metrics)\[\]: must have at most 50000 values$/),
      ]);
    },
  );

  it.each(['protobuf', 'json'] as const)('are 50,000, with what they are in: %s', (encoding) => {
    const { resources, scopes, items } = NAMES[signal];
    const empty = (count: number) =>
      encoding === 'json'
        ? Buffer.from(`{"${resources}":[{"${scopes}":[{"${items}":[{}${',{}'.repeat(count - 1)}]}]}]}`)
        : field(1, field(2, Buffer.alloc(2 * count, '1200', 'hex')));
    expect(read(signal, empty(49_900), encoding).items).toHaveLength(49_900);
    expect(() => read(signal, empty(50_000), encoding)).toThrow(
      expect.objectContaining({
        detail: expect.stringMatching(
          /has more than 50000 resources, scopes and (spans|log records|metrics and data points)$/,
        ) as string,
      }),
    );
  });
});

describe('a metric with many points', () => {
  it.each(['protobuf', 'json'] as const)(
    'comes in parts, each with all that it has beside them: %s',
    (encoding) => {
      const dataPoints = Array.from({ length: 2_050 }, (_, n) => ({ count: BigInt(n) }));
      const value = { aggregationTemporality: AggregationTemporality.DELTA, dataPoints };
      const message = SHAPES.metrics([{ name: 'n', unit: 's', data: { case: 'histogram', value } }]);
      const { items } = read('metrics', encode(SCHEMAS.metrics, message, encoding), encoding);
      expect(items).toHaveLength(21);
      const points = items.flatMap(({ name, unit, data }) => {
        expect([name, unit, data.case]).toEqual(['n', 's', 'histogram']);
        expect(data.value).toMatchObject({ aggregationTemporality: AggregationTemporality.DELTA });
        const found: object[] = data.value?.dataPoints ?? [];
        return found;
      });
      expect(points).toMatchObject(dataPoints);
    },
  );
});

describe('a body of JSON', () => {
  it('has its members in any order, under both names, once or more, with blanks', () => {
    const text = ` { "x" : [ { } ] ,"resource_spans":[{"scopeSpans":[ {"spans" :[{"name":"a"} , {"name":"b"}], "scope": {"name":"s"} } ],"resource":null}], "resource_spans":null,"resource_spans":[] } `;
    const parts = [...readItems('traces', Buffer.from(text), 'json')].filter((part) => part !== undefined);
    expect(parts).toMatchObject([
      { kind: 'resource', resource: undefined, scopes: ['s'] },
      { kind: 'scope', scope: { name: 's' } },
      { kind: 'item', item: { name: 'a' } },
      { kind: 'item', item: { name: 'b' } },
    ]);
  });

  it.each([
    '{',
    '[',
    '{"resourceSpans":[}',
    '{"resourceSpans":[{]}',
    '{"resourceSpans":[{},]}',
    '{"resourceSpans":[{}]}}',
    '{"resourceSpans":[{}]',
    '{"resourceSpans":[{}],}',
    '{"resourceSpans":[{"scopeSpans":[{"spans":[{]}]}]}',
    '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a]}]}]}',
    '{"x":1 "resourceSpans":[]}',
    '{resourceSpans:[]}',
    '{"resourceSpans"}',
    '{"x":y}',
    'x',
  ])('is rejected where it is none: %s', (text) => {
    expect(() => read('traces', Buffer.from(text), 'json')).toThrow('body: must be valid JSON');
  });

  it.each([
    '[]',
    '7',
    '{"resourceSpans":7}',
    '{"resourceSpans":{}}',
    '{"resourceSpans":[7]}',
    '{"resourceSpans":[null]}',
  ])('is rejected where it is another one: %s', (text) => {
    expect(() => read('traces', Buffer.from(text), 'json')).toThrow('body: cannot decode ');
  });

  it('has what the whole of it has, wherever it is cut, and nothing it has not', () => {
    const text =
      '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a\\"","attributes":[]}],"scope":{"name":"é"}}]}]}';
    for (let end = 0; end < text.length; end++)
      if (end > 0)
        expect(() => read('traces', Buffer.from(text.slice(0, end)), 'json')).toThrow(
          'body: must be valid JSON',
        );
    expect(read('traces', Buffer.from(text), 'json').items).toMatchObject([{ name: 'a"' }]);
  });
});

describe('a body of protobuf', () => {
  it('is rejected wherever it is cut within a field', () => {
    const bytes = encode(SCHEMAS.traces, SHAPES.traces([{ name: 'a' }]), 'protobuf');
    for (let end = 1; end < bytes.length; end++)
      expect(() => read('traces', bytes.subarray(0, end))).toThrow('body: ');
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
  return read('traces', Buffer.from(text), 'json').items[0]!;
}
