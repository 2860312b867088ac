import type { DimensionNames } from '../../records/names/name-registry.js';
import type { InstanceReport, Message } from '../../write/batches/message.js';
import { RejectedEntries } from '../../write/batches/rejected-entries.js';

/** An empty message. */
export function createMessage(uuid: string, env: string): Message {
  return {
    uuid,
    env,
    instanceUuid: null,
    names: [],
    counts: [],
    logs: [],
    spans: [],
    logMessages: [],
    spanCounts: [],
    points: [],
    errors: [],
    reportsErrors: true,
    report: null,
    apiDocument: null,
    framework: null,
    syncedAt: null,
    rejected: new RejectedEntries(),
  };
}

/** A record with an environment alone. */
export function createEnvName(env: string, timestamp: number): DimensionNames {
  return { env, method: '', path: null, consumer: null, timestamp };
}

/** The report of a process that says nothing of itself. */
export function createReport(timestamp: number): InstanceReport {
  return { timestamp, cpu_percent: null, memory_rss: null, client: '', versions: {}, app_version: '' };
}
