import type { Named } from '../ingestion/names/name-registry.js';
import type { CountRecord, RequestRecord } from '../ingestion/request-record.js';
import { weighRequest } from '../ingestion/rows.js';
import type { RejectedEntries } from './protocol/items.js';

/** One message of a client library, read: what it registers, what it counts and what it logs. */
export interface Message {
  /** The same message again has the same one, lower-case with hyphens. */
  uuid: string;
  env: string;
  /** Environments, endpoints and consumers that it names. */
  names: Named[];
  counts: CountRecord[];
  logs: RequestRecord[];
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

/** A row of counts, or what a name becomes, in characters. */
const ENTRY_CHARACTERS = 300;

/** About how many characters the rows of a message have. */
export function weighMessage({ names, counts, logs }: Message): number {
  const requests = logs.reduce((sum, request) => sum + weighRequest(request), 0);
  return requests + ENTRY_CHARACTERS * (names.length + counts.length);
}
