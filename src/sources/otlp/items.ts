import type { DescField, DescMessage, Message } from '@bufbuild/protobuf';
import { payloadTooLarge } from '../../platform/http/request-body.js';
import { InvalidRecordError } from '../../records/decoding/decoders.js';
import { MAX_ITEMS, MAX_RECORD_BYTES, MAX_RECORD_VALUES } from '../../records/limits.js';
import { type JsonPart, isJsonList, listJsonParts } from '../decoding/json-parts.js';
import { type Encoding, acceptAnyText, decodeMessage, explain, hasMoreValuesThan } from './encoding.js';
import { ExportLogsServiceRequestSchema } from './generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.js';
import { ExportMetricsServiceRequestSchema } from './generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import { ExportTraceServiceRequestSchema } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import type { InstrumentationScope } from './generated/opentelemetry/proto/common/v1/common_pb.js';
import type { LogRecord } from './generated/opentelemetry/proto/logs/v1/logs_pb.js';
import { type Metric, MetricSchema } from './generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import type { Resource } from './generated/opentelemetry/proto/resource/v1/resource_pb.js';
import type { Span } from './generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { type WireField, listWireFields } from './wire.js';

/** What each signal is a list of. */
export interface SignalItems {
  traces: Span;
  metrics: Metric;
  logs: LogRecord;
}
export type Signal = keyof SignalItems;

/**
 * A resource with the names of its scopes; then each scope, and behind it its items, or why one is left
 * out.
 */
export type Part<Item> =
  | { readonly kind: 'resource'; readonly resource: Resource | undefined; readonly scopes: readonly string[] }
  | { readonly kind: 'scope'; readonly scope: InstrumentationScope | undefined; readonly schemaUrl: string }
  | { readonly kind: 'item'; readonly item: Item }
  | { readonly kind: 'fault'; readonly fault: string };

/** Parts of a body, with `undefined` after each step that finds none. */
export type Parts<Item, Returned = void> = Generator<Part<Item> | undefined, Returned>;

/** The schema of an export, the names of the lists in it, and what its items are called. */
const SHAPES: Readonly<
  Record<Signal, { schema: DescMessage; resources: string; scopes: string; items: string; nouns: string }>
> = {
  traces: {
    schema: ExportTraceServiceRequestSchema,
    resources: 'resourceSpans',
    scopes: 'scopeSpans',
    items: 'spans',
    nouns: 'spans',
  },
  metrics: {
    schema: ExportMetricsServiceRequestSchema,
    resources: 'resourceMetrics',
    scopes: 'scopeMetrics',
    items: 'metrics',
    nouns: 'metrics and data points',
  },
  logs: {
    schema: ExportLogsServiceRequestSchema,
    resources: 'resourceLogs',
    scopes: 'scopeLogs',
    items: 'logRecords',
    nouns: 'log records',
  },
};
for (const { schema } of Object.values(SHAPES)) acceptAnyText(schema);

/** The kinds of data of a metric, each with a list of points. */
const METRIC_DATA = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'];
/** A longer metric is decoded in parts of `POINTS_AT_ONCE` points. */
const SMALL_METRIC_BYTES = 16 * 1024;
const POINTS_AT_ONCE = 100;

/**
 * The resources, scopes and items of a body, in its order. Each is decoded alone, once it is known to be
 * small enough; a metric with many points comes in several parts.
 *
 * @throws InvalidRecordError if the body is invalid; ApiError 413 if it has too many items
 */
export function readItems<S extends Signal>(
  signal: S,
  bytes: Buffer,
  encoding: Encoding,
): Parts<SignalItems[S]> {
  return new ItemReader(signal, encoding).read(bytes) as Parts<SignalItems[S]>;
}

/** A message that is not decoded yet, in a field of another one. */
interface Piece {
  readonly field: Pick<DescField, 'name' | 'localName'>;
  readonly schema: DescMessage;
  readonly bytes: Buffer;
}

/** A message without some of its fields, which are left as pieces. */
interface Split {
  readonly rest: Buffer;
  readonly pieces: readonly Piece[];
}
interface Opened {
  readonly header: Message & {
    resource?: Resource;
    scope?: InstrumentationScope;
    schemaUrl?: string;
  };
  readonly pieces: readonly Piece[];
}

const METRIC_PIECE: Omit<Piece, 'bytes'> = {
  field: { name: 'metrics', localName: 'metrics' },
  schema: MetricSchema,
};

type DecodedPart = Extract<Part<unknown>, { kind: 'item' | 'fault' }>;

class ItemReader {
  private count = 0;

  constructor(
    private readonly signal: Signal,
    private readonly encoding: Encoding,
  ) {}

  *read(body: Buffer): Parts<unknown> {
    const { schema, resources, scopes, items } = SHAPES[this.signal];
    for (const resource of (yield* this.open(schema, body, [resources])).pieces) {
      const { header, pieces } = yield* this.open(resource.schema, resource.bytes, [scopes]);
      const opened: Opened[] = [];
      for (const piece of pieces) opened.push(yield* this.open(piece.schema, piece.bytes, [items]));
      yield {
        kind: 'resource',
        resource: header.resource,
        scopes: opened.map((scope) => scope.header.scope?.name ?? ''),
      };
      for (const {
        header: { scope, schemaUrl = '' },
        pieces: found,
      } of opened) {
        yield { kind: 'scope', scope, schemaUrl };
        for (const piece of found) yield* this.readItem(piece);
      }
    }
  }

  private *readItem(piece: Piece): Parts<unknown> {
    if (piece.schema === MetricSchema && piece.bytes.length > SMALL_METRIC_BYTES)
      yield* this.readPoints(piece.bytes);
    else {
      const decoded = this.decodePiece(piece);
      if (piece.schema === MetricSchema && 'item' in decoded)
        this.add((decoded.item as Metric).data.value?.dataPoints.length ?? 0);
      yield decoded;
    }
  }

  /** A metric in parts; each part has some of its points. */
  private *readPoints(bytes: Buffer): Parts<unknown> {
    const { rest, pieces: kinds } = yield* this.split(MetricSchema, bytes, METRIC_DATA);
    const metric = this.decodePiece({ ...METRIC_PIECE, bytes: rest });
    if (metric.kind === 'fault' || kinds.length === 0) yield metric;
    else
      for (const { field, schema, bytes: data } of kinds) {
        const { header, pieces } = yield* this.open(schema, data, ['dataPoints']);
        for (let at = 0; at < pieces.length; at += POINTS_AT_ONCE) {
          const dataPoints: unknown[] = [];
          for (const piece of pieces.slice(at, at + POINTS_AT_ONCE)) {
            const point = this.decodePiece(piece);
            if (point.kind === 'item') dataPoints.push(point.item);
            else yield point;
            yield;
          }
          const value = { ...header, dataPoints };
          yield {
            kind: 'item',
            item: { ...(metric.item as Metric), data: { case: field.localName, value } },
          };
        }
      }
  }

  private decodePiece({ field, schema, bytes }: Piece): DecodedPart {
    const fault = this.findFault(schema, bytes);
    if (fault !== undefined) return { kind: 'fault', fault: `${field.name}[]: ${fault}` };
    return { kind: 'item', item: decodeMessage(schema, bytes, this.encoding) };
  }

  /** Decodes a message but for the messages in some of its fields. */
  private *open(schema: DescMessage, bytes: Buffer, names: readonly string[]): Generator<undefined, Opened> {
    const { rest, pieces } = yield* this.split(schema, bytes, names);
    const fault = this.findFault(schema, rest);
    if (fault !== undefined) throw new InvalidRecordError(`body: ${schema.name} ${fault}`);
    return { header: decodeMessage(schema, rest, this.encoding), pieces };
  }

  private *split(schema: DescMessage, bytes: Buffer, names: readonly string[]): Generator<undefined, Split> {
    const pieces: Piece[] = [];
    const rest: Buffer[] = [];
    let done = 0;
    const leaveOut = (start: number, end: number, instead = '') => {
      if (start > done) rest.push(bytes.subarray(done, start));
      if (instead !== '') rest.push(Buffer.from(instead));
      done = end;
    };
    for (const found of this.listPieces(schema, bytes, names, leaveOut)) {
      if (found) {
        pieces.push(found);
        this.add(1);
      }
      yield;
    }
    if (done === 0) return { rest: bytes, pieces };
    return { rest: Buffer.concat([...rest, bytes.subarray(done)]), pieces };
  }

  private *listPieces(
    schema: DescMessage,
    bytes: Buffer,
    names: readonly string[],
    leaveOut: (start: number, end: number, instead?: string) => void,
  ): Generator<Piece | undefined, void> {
    for (const found of this.listFields(schema, bytes)) {
      const field = found && ('name' in found ? findJsonField(schema, found.name) : found.field);
      if (found === undefined || field?.message === undefined || !names.includes(field.localName)) {
        yield undefined;
        continue;
      }
      const part = bytes.subarray(found.start, found.end);
      const { message } = field;
      const toPiece = (item: Buffer): Piece => ({ field, schema: message, bytes: item });
      if ('from' in found) leaveOut(found.from, found.end);
      else if (field.fieldKind === 'list' && !isJsonList(part)) continue;
      else leaveOut(found.start, found.end, 'null');
      if ('from' in found || field.fieldKind !== 'list') yield toPiece(part);
      else {
        this.add(1);
        for (const item of this.listFields(schema, part))
          yield item && toPiece(part.subarray(item.start, item.end));
      }
    }
  }

  private *listFields(schema: DescMessage, bytes: Buffer): Generator<JsonPart | WireField | undefined, void> {
    try {
      yield* this.encoding === 'json' ? listJsonParts(bytes) : listWireFields(schema, bytes);
    } catch (error) {
      throw explain(error, this.encoding);
    }
  }

  private findFault(schema: DescMessage, bytes: Buffer): string | undefined {
    if (bytes.length > MAX_RECORD_BYTES) return `must have at most ${MAX_RECORD_BYTES} bytes`;
    return hasMoreValuesThan(MAX_RECORD_VALUES, schema, bytes, this.encoding)
      ? `must have at most ${MAX_RECORD_VALUES} values`
      : undefined;
  }

  private add(items: number): void {
    this.count += items;
    if (this.count > MAX_ITEMS)
      throw payloadTooLarge(`has more than ${MAX_ITEMS} resources, scopes and ${SHAPES[this.signal].nouns}`);
  }
}

/** By both of its names, as the decoder does. */
function findJsonField({ fields }: DescMessage, name: string): DescField | undefined {
  return fields.find((field) => field.jsonName === name || field.name === name);
}
