import type { Measure } from '../../records/bins.js';
import type { ErrorIdentity } from '../../records/error-fingerprint.js';
import type { StoredSpan } from '../known-requests.js';
import type { DimensionNames } from '../../records/names/name-registry.js';
import type { CountRecord, RequestRecord } from '../../records/request-record.js';
import { weighCount, weighError, weighRequest } from '../row-encoder.js';
import { type SpanRecord, weighSpan } from '../../records/span-record.js';
import type { RejectedEntries } from './rejected-entries.js';

/** Errors that client libraries report, and exceptions of single requests. */
export type ErrorKind = 'validation' | 'server' | 'exception';

/** By what a record is recognized that comes again in another body. */
export interface RecordKey {
  /** Nanoseconds since the Unix epoch. */
  time_ns: bigint;
  /** 64 bits as decimal digits; equal records of one body have different ones. */
  record_hash: string;
}

/** An error of an endpoint and its count: client libraries aggregate equal errors. */
export interface ErrorRecord extends DimensionNames, ErrorIdentity {
  kind: ErrorKind;
  sentry_event_id: string;
  errors: number;
  /** The log record that reports it, if it came in one. */
  record?: RecordKey;
}

/** A report of an application process about itself. */
export interface InstanceReport {
  /** Milliseconds since the Unix epoch, whole. */
  timestamp: number;
  /** Can exceed 100; null if unknown. */
  cpu_percent: number | null;
  /** Bytes; null when it is not known. */
  memory_rss: number | null;
  /** The client library and the versions of packages; empty except at a start. */
  client: string;
  versions: Record<string, string>;
  /** Of the application; empty if it is not given. */
  app_version: string;
}

/** What an application says of its API at its start, as JSON texts. */
export interface ApiDocument {
  /** The OpenAPI document; empty if there is none. */
  document: string;
  /** The routes that have a summary: method, path and summary. */
  routes: string;
}

/**
 * A log record of a trace, as a row of the landing table `logged_messages`; absent values are empty, or 0.
 */
export interface LogMessage {
  trace_id: string;
  span_id: string;
  /** The span of the request, if the sender names it. */
  server_span_id: string;
  /** Nanoseconds since the Unix epoch, as decimal digits. */
  timestamp_ns: string;
  level: string;
  message: string;
  logger: string;
  file: string;
  line: number;
  /** JSON text: an object without what has a member here. */
  attributes: string;
  /** Of its `RecordKey`. */
  record_hash: string;
}

/** The count of a request by its span; counted only if the instance sends no metric of its requests. */
export interface SpanCount extends CountRecord {
  /** So that the same span in another message is not counted again. */
  request_uuid: string;
  /** When the span ended, in milliseconds since the Unix epoch. */
  ended_at: number;
  /** The span of a request that is excluded from logs; null if it is logged. */
  unlogged_span: StoredSpan | null;
}

/** A data point of a metric of requests: of an interval, or cumulative since the start of its stream. */
export interface MetricPoint extends DimensionNames {
  /** 0 if it is unknown. */
  status_code: number;
  measure: Measure;
  /** Number of measured requests, and the sum of their values in seconds or bytes. */
  count: number;
  sum: number;
  /**
   * The distribution of the values: n of them in bin k. Their bucket has the same place in each point of a
   * cumulative stream.
   */
  bins: { k: number; n: number; place: number }[];
  /** Width of a bucket in places; it grows when an exponential histogram lowers its scale. */
  bucket_width: number;
  /** Largest distance of a bin's middle from its values: relative, and in seconds or bytes. */
  relative_error: number;
  absolute_error: number;
  /** Whether the metric has its older name: an instance that sends both is counted by one of them. */
  is_older: boolean;
  /** Identifies the cumulative stream; null for a point of an interval. */
  stream: string | null;
  /** Whether the sender names consumers in its metric. */
  names_consumers: boolean;
  /** Start of the interval or of the stream, in nanoseconds since the Unix epoch. */
  starts_ns: bigint;
  /** Whether the stream began at an unknown time before this, its first point. */
  starts_unknown: boolean;
  /** End of the interval, in nanoseconds since the Unix epoch. */
  time_ns: bigint;
  /** Of its `RecordKey`; null for a point of a stream, which counts by its difference. */
  record_hash: string | null;
}

/** A parsed message of a client library: names, counts and logged requests. */
export interface Message {
  /** Identifies retries of a message; lower-case with hyphens. */
  uuid: string;
  env: string;
  /** The sending process; null if unknown. */
  instanceUuid: string | null;
  /** Environments, endpoints and consumers in the message. */
  names: DimensionNames[];
  counts: CountRecord[];
  logs: RequestRecord[];
  spans: SpanRecord[];
  logMessages: LogMessage[];
  /** Counts of requests by their spans, and by the points of metrics. */
  spanCounts: SpanCount[];
  points: MetricPoint[];
  errors: ErrorRecord[];
  /** Whether the sender reports the errors of its requests by itself. */
  reportsErrors: boolean;
  report: InstanceReport | null;
  apiDocument: ApiDocument | null;
  /** The app's framework; null if unknown. */
  framework: string | null;
  /**
   * Time of synchronization of the environment, in milliseconds since the Unix epoch; null if this is not a
   * sync.
   */
  syncedAt: number | null;
  rejected: RejectedEntries;
}

/** Context of parsing a message. */
export interface MessageContext {
  env: string;
  /** Milliseconds since the Unix epoch. */
  now: number;
}

/** Estimated characters of a name, or of a report without its versions. */
const ENTRY_CHARACTERS = 300;

/** Estimated characters of a message's rows. */
export function weighMessage(message: Message): number {
  const { names, counts, logs, errors, report, apiDocument, spans, logMessages, spanCounts, points } =
    message;
  const requests = logs.reduce((sum, request) => sum + weighRequest(request), 0);
  const counted = [...counts, ...spanCounts, ...points].reduce((sum, count) => sum + weighCount(count), 0);
  const texts = errors.reduce((sum, error) => sum + weighError(error), 0);
  const spanTexts = spans.reduce((sum, span) => sum + weighSpan(span), 0);
  const logTexts = logMessages.reduce((sum, log) => sum + weighLogMessage(log), 0);
  const versions = report ? JSON.stringify(report.versions).length : 0;
  const document = apiDocument ? weighDocument(apiDocument) : 0;
  const attributes = names.reduce((sum, { consumer }) => sum + (consumer?.attributes?.length ?? 0), 0);
  const rows = requests + counted + texts + spanTexts + logTexts + versions + document + attributes;
  return rows + ENTRY_CHARACTERS * (names.length + 1);
}

/** Estimated characters of a document's row: quotes are escaped in it. */
export function weighDocument({ document, routes }: ApiDocument): number {
  return 2 * (document.length + routes.length) + ENTRY_CHARACTERS;
}

/** Estimated characters of a log record's row. */
export function weighLogMessage({ message, attributes }: Pick<LogMessage, 'message' | 'attributes'>): number {
  return 2 * (message.length + attributes.length) + ENTRY_CHARACTERS;
}
