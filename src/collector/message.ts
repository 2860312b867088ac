import type { DimensionNames } from '../ingestion/names/name-registry.js';
import type { CountRecord, RequestRecord } from '../ingestion/request-record.js';
import { weighCount, weighRequest } from '../ingestion/row-encoder.js';
import type { RejectedEntries } from './protocol/lists.js';

export type ErrorKind = 'validation' | 'server';

/** An error of an endpoint and its count: client libraries aggregate equal errors. */
export interface ErrorRecord extends DimensionNames {
  kind: ErrorKind;
  type: string;
  message: string;
  /** Of a validation error, the path to the value. */
  location: string[];
  /** Of a server error. */
  stacktrace: string;
  sentry_event_id: string;
  errors: number;
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
}

/** A parsed message of a client library: names, counts and logged requests. */
export interface Message {
  /** Identifies retries of a message; lower-case with hyphens. */
  uuid: string;
  env: string;
  /** The sending process; null if unknown. */
  instanceUuid: string | null;
  /** Environments, endpoints and consumers that it names. */
  names: DimensionNames[];
  counts: CountRecord[];
  logs: RequestRecord[];
  errors: ErrorRecord[];
  report: InstanceReport | null;
  /** The app's framework; null if unknown. */
  framework: string | null;
  /** Time of synchronization of the environment, in milliseconds since the Unix epoch; null if this is not a sync. */
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

/** About how many characters the rows of a message have. */
export function weighMessage({ names, counts, logs, errors, report }: Message): number {
  const requests = logs.reduce((sum, request) => sum + weighRequest(request), 0);
  const counted = counts.reduce((sum, count) => sum + weighCount(count), 0);
  const texts = errors.reduce((sum, error) => sum + weighError(error), 0);
  const versions = report ? JSON.stringify(report.versions).length : 0;
  return requests + counted + texts + versions + ENTRY_CHARACTERS * (names.length + 1);
}

/** About how many characters the row of an error has: line ends are escaped in it. */
export function weighError({ message, stacktrace }: Pick<ErrorRecord, 'message' | 'stacktrace'>): number {
  return 2 * (message.length + stacktrace.length) + 2 * ENTRY_CHARACTERS;
}
