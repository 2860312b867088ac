import { randomUUID } from 'node:crypto';
import { type Batch, type MessageKey, NIL_UUID, type Piece } from '../../ingestion/batch-log.js';
import type { KnownRequests, RequestKey } from '../../ingestion/known-requests.js';
import { dateTime64 } from '../../ingestion/names/id-generator.js';
import type {
  DimensionNames,
  NameRegistry,
  RequestIds,
  WithIds,
} from '../../ingestion/names/name-registry.js';
import type { RequestRecord } from '../../ingestion/request-record.js';
import { encodePieces, toCountRow, toLogRow, weighCount, weighRequest } from '../../ingestion/row-encoder.js';
import type { ClientApp, ClientApps } from '../client-apps.js';
import { type ErrorRecord, type Message, weighError } from '../message.js';

/** A message to be stored. */
export interface AppMessage extends MessageKey {
  app: ClientApp;
  message: Message;
}

/** A logged request with its identity, and the message that it came in. */
interface LoggedRequest extends RequestKey {
  message: Message;
  record: RequestRecord;
}

/** The landing tables in the order of insertion; their rows are of all apps. */
interface RowsByTable {
  request_counts: ReturnType<typeof toCountRow>[];
  logged_requests: { row: ReturnType<typeof toLogRow>; record: RequestRecord }[];
  reported_errors: ReturnType<typeof errorRow>[];
  instance_reports: object[];
}

/** Makes a batch of messages: registers their names and encodes their rows. */
export class BatchBuilder {
  constructor(
    private readonly names: NameRegistry,
    private readonly apps: ClientApps,
    private readonly known: KnownRequests,
  ) {}

  async build(messages: readonly AppMessage[]): Promise<Batch> {
    const unknown = groupByApp(await this.known.filterUnknown(loggedRequestsIn(messages)));
    const rows: RowsByTable = {
      request_counts: [],
      logged_requests: [],
      reported_errors: [],
      instance_reports: [],
    };
    for (const [appId, own] of groupByApp(messages)) {
      await this.updateFramework(own);
      await this.addRows(rows, appId, own, unknown.get(appId) ?? []);
    }
    return {
      id: randomUUID(),
      createdAt: dateTime64(Date.now()).slice(0, 19),
      messages: messages.map(({ app_id, message_uuid, message }) => ({
        app_id,
        message_uuid,
        instance_uuid: message.instanceUuid,
      })),
      pieces: [...encode(rows)],
    };
  }

  private async updateFramework(messages: readonly AppMessage[]): Promise<void> {
    const last = messages.findLast(({ message }) => message.framework !== null);
    const framework = last?.message.framework;
    if (last && framework && framework !== last.app.framework)
      await this.apps.updateFramework(last.app, framework);
  }

  private async addRows(
    rows: RowsByTable,
    appId: number,
    own: readonly AppMessage[],
    requests: readonly LoggedRequest[],
  ): Promise<void> {
    const messages = own.map(({ message }) => message);
    // Names first: counts refer to consumers by identifier only.
    const names = messages.flatMap((message) => message.names.map((record) => ({ message, record })));
    const counts = messages.flatMap((message) => message.counts.map((record) => ({ message, record })));
    const errors = messages.flatMap((message) => message.errors.map((record) => ({ message, record })));
    const named = await this.resolve(appId, names);
    for (const { record, ids } of await this.resolve(appId, counts))
      rows.request_counts.push(toCountRow(appId, record, ids));
    for (const { record, ids } of await this.resolve(appId, requests))
      rows.logged_requests.push({ row: toLogRow(appId, record, ids), record });
    for (const { record, ids } of await this.resolve(appId, errors))
      rows.reported_errors.push(errorRow(appId, record, ids));
    const envIds = new Map(names.map(({ record }, index) => [record.env, named[index]?.ids.app_env_id]));
    for (const message of messages) {
      const row = reportRow(appId, message, envIds.get(message.env));
      if (row) rows.instance_reports.push(row);
    }
  }

  /** Resolves names; those beyond the app's limits count as rejected entries of their messages. */
  private async resolve<R extends DimensionNames>(
    appId: number,
    entries: readonly { message: Message; record: R }[],
  ): Promise<WithIds<R>[]> {
    const records = entries.map(({ record }) => record);
    const resolved = await this.names.resolve(appId, records);
    for (const [index, { overflow = [] }] of resolved.entries())
      for (const kind of overflow)
        entries[index]?.message.rejected.add(`${kind}: above the limit of the app, counted as *`);
    return resolved;
  }
}

/** The logged requests of messages. */
export function loggedRequestsIn(messages: readonly AppMessage[]): LoggedRequest[] {
  return messages.flatMap(({ app_id, message }) =>
    message.logs.map((record) => ({ app_id, request_uuid: record.request_uuid, message, record })),
  );
}

function* encode(rows: RowsByTable): Generator<Piece> {
  const { request_counts, logged_requests, reported_errors, instance_reports } = rows;
  yield* encodePieces('request_counts', request_counts, (row) => row, weighCount);
  yield* encodePieces(
    'logged_requests',
    logged_requests,
    ({ row }) => row,
    ({ record }) => weighRequest(record),
  );
  yield* encodePieces('reported_errors', reported_errors, (row) => row, weighError);
  yield* encodePieces('instance_reports', instance_reports, (row) => row);
}

/** One row of `reported_errors`. */
function errorRow(appId: number, error: ErrorRecord, ids: RequestIds) {
  const { timestamp, kind, type, message, location, stacktrace, sentry_event_id, errors } = error;
  const texts = { kind, type, message, location, stacktrace, sentry_event_id };
  return { app_id: appId, timestamp: dateTime64(timestamp), ...ids, ...texts, errors };
}

/**
 * One row of `instance_reports`; none if it would be empty. Counts already update the time of the last synchronization,
 * so only a sync without counts needs a row for it.
 */
function reportRow(appId: number, message: Message, envId: number | undefined): object | undefined {
  const { report, instanceUuid, counts, syncedAt } = message;
  if (!report) return undefined;
  const { timestamp, cpu_percent, memory_rss, client, versions } = report;
  const isIdle = syncedAt !== null && counts.length === 0;
  const isStart = client !== '' || Object.keys(versions).length > 0;
  if (!isIdle && !isStart && cpu_percent === null && memory_rss === null) return undefined;
  return {
    app_id: appId,
    timestamp: dateTime64(timestamp),
    app_env_id: envId,
    instance_uuid: instanceUuid ?? NIL_UUID,
    last_sync_at: dateTime64(isIdle ? syncedAt : 0),
    cpu_percent: cpu_percent ?? -1,
    memory_rss: memory_rss ?? -1,
    client,
    versions,
  };
}

function groupByApp<T extends { app_id: number }>(all: readonly T[]): Map<number, T[]> {
  const apps = new Map<number, T[]>();
  for (const one of all) {
    const own = apps.get(one.app_id);
    if (own) own.push(one);
    else apps.set(one.app_id, [one]);
  }
  return apps;
}
