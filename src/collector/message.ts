import type { DimensionNames } from '../ingestion/names/name-registry.js';
import type { CountRecord, RequestRecord } from '../ingestion/request-record.js';
import { weighCount, weighRequest } from '../ingestion/row-encoder.js';
import type { RejectedEntries } from './protocol/lists.js';

export type ErrorKind = 'validation' | 'server';

/** An error of an endpoint, and how often it came: the client libraries add up those that are alike. */
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

/** What a process of an application says of itself. */
export interface InstanceReport {
  /** Milliseconds since the Unix epoch, whole. */
  timestamp: number;
  /** May pass 100; null when it is not known. */
  cpu_percent: number | null;
  /** Bytes; null when it is not known. */
  memory_rss: number | null;
  /** The client library as it names itself, and the versions of packages; empty when this is no start. */
  client: string;
  versions: Record<string, string>;
}

/** One message of a client library, read: what it registers, what it counts and what it logs. */
export interface Message {
  /** The same message again has the same one, lower-case with hyphens. */
  uuid: string;
  env: string;
  /** The process that sent it; null when it does not say. */
  instanceUuid: string | null;
  /** Environments, endpoints and consumers that it names. */
  names: DimensionNames[];
  counts: CountRecord[];
  logs: RequestRecord[];
  errors: ErrorRecord[];
  report: InstanceReport | null;
  /** The app's framework, or null when it does not say. */
  framework: string | null;
  /** When the environment was synchronized, in milliseconds since the Unix epoch; null when this is no sync. */
  syncedAt: number | null;
  rejected: RejectedEntries;
}

/** What a reader of messages knows beside their bytes. */
export interface MessageContext {
  env: string;
  /** Milliseconds since the Unix epoch. */
  now: number;
}

/** What a name becomes, in characters, or a report without its versions. */
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
