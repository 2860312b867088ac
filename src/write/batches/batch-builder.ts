import { randomUUID } from 'node:crypto';
import { type Batch, type MessageKey, type Piece } from '../batch-log.js';
import { NIL_UUID } from '../../shared/nil-uuid.js';
import { type KnownRequests, type RequestKey, requestKey } from '../known-requests.js';
import type { DimensionNames, NameRegistry, WithIds } from '../../records/names/name-registry.js';
import { hasOperation, removeOperation } from '../../records/operation.js';
import type { RequestRecord } from '../../records/request-record.js';
import { encodePieces, toCountRow, toLogRow, weighCount, weighError, weighRequest } from '../row-encoder.js';
import { type DeprecationRow, findDeprecationRows } from '../deprecation-rows.js';
import { type ErrorRow, findExceptionRow, toErrorRow } from '../error-row.js';
import { type SpanRecord, weighSpan } from '../../records/span-record.js';
import { hashUuid } from '../../shared/hash-uuid.js';
import { Slices, type Steps } from '../../shared/async/slices.js';
import type { ClientApp, ClientApps } from '../../access/tokens/client-apps.js';
import {
  type LogMessage,
  type Message,
  type SpanCount,
  type MetricPoint,
  type RecordKey,
  weighDocument,
  weighLogMessage,
} from './message.js';
import type { InnerSpans } from './inner-spans.js';
import type { CountedRecordRow, RepeatedRecords } from './repeated-records.js';
import type { DueInstances, InstanceCounts, InstanceRows } from './instance-counts.js';
import type { IntervalDays } from './interval-days.js';
import type { ApiDocumentRow, ApiDocuments } from './api-documents.js';

/** A message to be stored. */
export interface AppMessage extends MessageKey {
  app: ClientApp;
  message: Message;
}

/** By app, the IDs of endpoints that have operations of their own. */
export type OperatedEndpoints = ReadonlyMap<number, ReadonlySet<number>>;

/** A request with its identity, and its message. */
interface MessageRequest extends RequestKey {
  message: Message;
  /** Null if it is excluded from logs. */
  record: RequestRecord | null;
}

/** Rows for the landing tables, in the order of insertion; they may belong to several apps. */
interface RowsByTable extends InstanceRows {
  logged_requests: { row: ReturnType<typeof toLogRow>; record: RequestRecord }[];
  reported_errors: ErrorRow[];
  instance_reports: NonNullable<ReturnType<typeof reportRow>>[];
  api_documents_v1: ApiDocumentRow[];
  endpoint_deprecations_v1: DeprecationRow[];
  logged_spans: (SpanRecord & { app_id: number; app_env_id: number | undefined })[];
  logged_messages: (LogMessage & { app_id: number; app_env_id: number | undefined })[];
  counted_records_v1: CountedRecordRow[];
}

/** Makes a batch of messages: registers their names and encodes their rows. */
export class BatchBuilder {
  constructor(
    private readonly names: NameRegistry,
    private readonly apps: ClientApps,
    private readonly knownRequests: KnownRequests,
    private readonly instances: InstanceCounts,
    private readonly intervals: IntervalDays,
    private readonly repeated: RepeatedRecords,
    private readonly documents: ApiDocuments,
    private readonly innerSpans: InnerSpans,
  ) {}

  async findOperated(messages: readonly AppMessage[]): Promise<OperatedEndpoints> {
    // Others do not count by the route alone.
    const counting = messages.filter(({ message: { counts, points } }) => counts.length + points.length > 0);
    return new Map(
      await Promise.all(
        Array.from(
          groupByApp(counting).keys(),
          async (appId) => [appId, await this.names.listOperated(appId)] as const,
        ),
      ),
    );
  }

  /**
   * @param requests those of the messages
   * @param operated found before the claims on the instances of the messages were made
   */
  async build(
    messages: readonly AppMessage[],
    requests: readonly MessageRequest[],
    operated: OperatedEndpoints,
  ): Promise<Batch> {
    const work = new Slices();
    const unknown = groupByApp(await work.wait(this.knownRequests.filterUnknown(requests)));
    if (work.isOver) await work.giveWay();
    const rows = noRows();
    for (const [appId, appMessages] of groupByApp(messages)) {
      await work.wait(this.updateFramework(appMessages));
      // Spans that arrived while the requests waited.
      const innerSpans = this.innerSpans.ofApp(appId);
      await work.run(innerSpans.assign(appMessages.map(({ message }) => message)));
      this.innerSpans.remember(appId, innerSpans.waiting);
      const endpointIds = operated.get(appId) ?? new Set();
      await this.addRows(rows, appId, appMessages, unknown.get(appId) ?? [], endpointIds, work);
    }
    return {
      id: randomUUID(),
      createdAt: Math.floor(Date.now() / 1000),
      messages: messages.map(({ app_id, message_uuid, message }) => ({
        app_id,
        message_uuid,
        instance_uuid: message.instanceUuid,
      })),
      pieces: await work.run(encode(rows)),
      requests: requests.map(requestKey),
    };
  }

  /** The batch that counts the pending spans of instances; null if all of them are already counted. */
  async buildSettled(due: DueInstances): Promise<Batch | null> {
    const rows = noRows();
    await this.instances.settle(due, rows);
    const pieces = await new Slices().run(encode(rows));
    if (pieces.length === 0) return null;
    return { id: randomUUID(), createdAt: Math.floor(Date.now() / 1000), messages: [], pieces };
  }

  /** The batch that counts exceptions of requests; null without any. */
  async buildErrors(rows: readonly ErrorRow[]): Promise<Batch | null> {
    const pieces = await new Slices().run(encode({ ...noRows(), reported_errors: [...rows] }));
    if (pieces.length === 0) return null;
    // Derived from its requests, so that two processes without Redis that find the same write the same batch.
    const id = hashUuid(rows.map(({ app_id, request_uuid }) => `${app_id}/${request_uuid}`).join());
    return { id, createdAt: Math.floor(Date.now() / 1000), messages: [], pieces };
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
    appMessages: readonly AppMessage[],
    requests: readonly MessageRequest[],
    operated: ReadonlySet<number>,
    work: Slices,
  ): Promise<void> {
    const messages = appMessages.map(({ message }) => message);
    // Names first: counts refer to consumers by identifier only.
    const names = messages.flatMap((message) => message.names.map((record) => ({ message, record })));
    const counts = messages.flatMap((message) => message.counts.map((record) => ({ message, record })));
    const reportedErrors = messages.flatMap((message) =>
      message.errors.map((record) => ({ message, record })),
    );
    const measured = messages.flatMap((message) => message.points.map((record) => ({ message, record })));
    const keys = [
      ...reportedErrors.map(({ record }) => record.record),
      ...measured.map(({ record }) => record),
    ];
    if (work.isOver) await work.giveWay();
    const repeated = await this.repeated.find(appId, keys.filter(hasKey), rows.counted_records_v1);
    if (work.isOver) await work.giveWay();
    const errors = reportedErrors.filter(({ record }) => !record.record || !repeated.has(record.record));
    const points = measured.filter(({ record }) => !hasKey(record) || !repeated.has(record));
    const logged = requests.flatMap(({ message, record }) => (record ? [{ message, record }] : []));
    const named = await this.resolve(appId, names, work);
    const summed = await this.resolve(appId, counts, work);
    await work.forEach(summed, ({ record, ids }) => {
      rows.request_counts.push(toCountRow(appId, record, ids));
    });
    const represented = new Map(
      messages.flatMap(({ spanCounts }) =>
        spanCounts.map((count) => [count.request_uuid, count.requests] as const),
      ),
    );
    if (work.isOver) await work.giveWay();
    const placed = await this.resolve(appId, logged, work);
    await work.forEach(placed.entries(), ([index, { record, ids }]) => {
      rows.logged_requests.push({ row: toLogRow(appId, record, ids), record });
      const error = findExceptionRow(appId, record, ids, {
        sentPath: logged[index]?.record.path,
        requests: represented.get(record.request_uuid),
        isReported: logged[index]?.message.reportsErrors,
      });
      if (error) rows.reported_errors.push(error);
    });
    rows.endpoint_deprecations_v1.push(...findDeprecationRows(appId, placed));
    await work.forEach(await this.resolve(appId, errors, work), ({ record, ids }) => {
      rows.reported_errors.push(toErrorRow(appId, record, ids));
    });
    const counted = counts.map(({ record }) => record);
    for (const row of await this.intervals.findNew(appId, counted)) rows.percentile_accuracy_v1.push(row);
    const reported = logged.flatMap(({ record }, index) => {
      const { ids } = placed[index] ?? {};
      return ids && hasOperation(record.path) && !represented.has(record.request_uuid) ? { record, ids } : [];
    });
    const routes = await this.resolveRoutes(appId, reported, work);
    const routeIds = new Set(routes.values());
    await this.instances.assignOperations(
      appId,
      summed.filter(({ ids }) => operated.has(ids.endpoint_id) || routeIds.has(ids.endpoint_id)),
      reported.map(({ record, ids }, index) => ({ record, ids, route_id: routes.get(index) ?? 0 })),
      rows,
    );
    await this.addInstanceCounts(rows, appId, messages, requests, points, operated, work);
    const envIds = new Map(names.map(({ record }, index) => [record.env, named[index]?.ids.app_env_id]));
    const documents = messages.flatMap(({ env, apiDocument, report }) => {
      const subject = { app_env_id: envIds.get(env) ?? 0, is_imported: false };
      return apiDocument ? { ...subject, app_version: report?.app_version ?? '', ...apiDocument } : [];
    });
    for (const row of await work.wait(this.documents.findNew(appId, documents)))
      rows.api_documents_v1.push(row);
    for (const message of messages) {
      const row = reportRow(appId, message, envIds.get(message.env));
      if (row) rows.instance_reports.push(row);
      const app_env_id = envIds.get(message.env);
      // To spread two objects takes thirty times as long as to assign one to the other.
      await work.forEach(message.spans, (span) => {
        rows.logged_spans.push(Object.assign({ app_id: appId, app_env_id }, span));
      });
      await work.forEach(message.logMessages, (log) => {
        rows.logged_messages.push(Object.assign({ app_id: appId, app_env_id }, log));
      });
    }
  }

  /** Counts requests by their spans and metrics, except requests that are already in the store. */
  private async addInstanceCounts(
    rows: RowsByTable,
    appId: number,
    messages: readonly Message[],
    requests: readonly MessageRequest[],
    points: readonly { message: Message; record: MetricPoint }[],
    operatedBefore: ReadonlySet<number>,
    work: Slices,
  ): Promise<void> {
    const unseen = new Map(requests.map(({ request_uuid, message }) => [request_uuid, message]));
    const isNew = (request_uuid: string, message: Message) =>
      unseen.get(request_uuid) === message && unseen.delete(request_uuid);
    const spans: { message: Message; record: SpanCount }[] = [];
    for (const message of messages)
      await work.forEach(message.spanCounts, (record) => {
        if (isNew(record.request_uuid, message)) spans.push({ message, record });
      });
    if (spans.length === 0 && points.length === 0) return;
    if (work.isOver) await work.giveWay();
    const operated = new Set(operatedBefore);
    const resolve = async <R extends DimensionNames>(entries: readonly { message: Message; record: R }[]) => {
      const resolved = await this.resolve(appId, entries, work);
      const routes = await this.resolveRoutes(appId, entries, work);
      for (const id of routes.values()) operated.add(id);
      return resolved.map(({ record, ids }, index) => ({
        instance: entries[index]?.message.instanceUuid ?? NIL_UUID,
        record,
        ids,
        route_id: routes.get(index) ?? ids.endpoint_id,
      }));
    };
    const resolvedSpans = await resolve(spans);
    const resolvedPoints = await resolve(points);
    await work.wait(this.instances.count(appId, resolvedSpans, resolvedPoints, operated, rows));
  }

  /** The IDs of the endpoints of records with an operation, without it, by the index of the record. */
  private async resolveRoutes(
    appId: number,
    entries: readonly { record: DimensionNames }[],
    work: Slices,
  ): Promise<ReadonlyMap<number, number>> {
    const indices = entries.flatMap(({ record }, index) => (hasOperation(record.path) ? index : []));
    const routes = entries.flatMap(({ record }) =>
      hasOperation(record.path) ? { ...record, path: removeOperation(record.path) } : [],
    );
    const resolved = await work.wait(this.names.resolve(appId, routes));
    if (work.isOver) await work.giveWay();
    return new Map(indices.map((index, nth) => [index, resolved[nth]?.ids.endpoint_id ?? 0]));
  }

  /** Resolves names; those beyond the app's limits count as rejected entries of their messages. */
  private async resolve<R extends DimensionNames>(
    appId: number,
    entries: readonly { message: Message; record: R }[],
    work: Slices,
  ): Promise<WithIds<R>[]> {
    const records = entries.map(({ record }) => record);
    const resolved = await work.wait(this.names.resolve(appId, records));
    await work.forEach(resolved.entries(), ([index, { overflow = [] }]) => {
      for (const kind of overflow)
        entries[index]?.message.rejected.add(`${kind}: above the limit of the app, counted as *`);
    });
    return resolved;
  }
}

/** The requests of messages that have an identity: logged requests, and requests of spans. */
export function requestsIn(messages: readonly AppMessage[]): MessageRequest[] {
  return messages.flatMap(({ app_id, message }) => [
    ...message.logs.map((record) => ({ app_id, request_uuid: record.request_uuid, message, record })),
    ...message.spanCounts.flatMap(({ request_uuid, unlogged_span }) =>
      unlogged_span ? [{ app_id, request_uuid, unlogged_span, message, record: null }] : [],
    ),
  ]);
}

function hasKey(record: Partial<Record<keyof RecordKey, unknown>> | undefined): record is RecordKey {
  return typeof record?.record_hash === 'string';
}

function noRows(): RowsByTable {
  return {
    request_counts: [],
    logged_requests: [],
    reported_errors: [],
    instance_reports: [],
    api_documents_v1: [],
    endpoint_deprecations_v1: [],
    logged_spans: [],
    logged_messages: [],
    percentile_accuracy_v1: [],
    counted_instances_v1: [],
    pending_counts_v1: [],
    metric_streams_v1: [],
    counted_records_v1: [],
    assigned_counts: [],
    unassigned_requests_v1: [],
    consumer_coverage_v1: [],
  };
}

function* encode(rows: RowsByTable): Steps<Piece[]> {
  const { request_counts, logged_requests, reported_errors, instance_reports } = rows;
  const weighLogged = ({ record }: RowsByTable['logged_requests'][number]) => weighRequest(record);
  return [
    ...(yield* encodePieces('request_counts', request_counts, (row) => row, weighCount)),
    ...(yield* encodePieces('logged_requests', logged_requests, ({ row }) => row, weighLogged)),
    ...(yield* encodePieces('reported_errors', reported_errors, (row) => row, weighError)),
    ...(yield* encodePieces('instance_reports', instance_reports, (row) => row)),
    ...(yield* encodePieces('api_documents_v1', rows.api_documents_v1, (row) => row, weighDocument)),
    ...(yield* encodePieces('endpoint_deprecations_v1', rows.endpoint_deprecations_v1, (row) => row)),
    ...(yield* encodePieces('logged_spans', rows.logged_spans, (row) => row, weighSpan)),
    ...(yield* encodePieces('logged_messages', rows.logged_messages, (row) => row, weighLogMessage)),
    ...(yield* encodePieces('percentile_accuracy_v1', rows.percentile_accuracy_v1, (row) => row)),
    ...(yield* encodePieces('counted_instances_v1', rows.counted_instances_v1, (row) => row)),
    ...(yield* encodePieces('pending_counts_v1', rows.pending_counts_v1, (row) => row, weighCount)),
    ...(yield* encodePieces('metric_streams_v1', rows.metric_streams_v1, (row) => row, weighCount)),
    ...(yield* encodePieces('counted_records_v1', rows.counted_records_v1, (row) => row)),
    // Behind the counts that they take from.
    ...(yield* encodePieces('request_counts', rows.assigned_counts, (row) => row, weighCount)),
    ...(yield* encodePieces('unassigned_requests_v1', rows.unassigned_requests_v1, (row) => row, weighCount)),
    ...(yield* encodePieces('consumer_coverage_v1', rows.consumer_coverage_v1, (row) => row)),
  ];
}

/**
 * One row of `instance_reports`. Counts already update the time of the last synchronization, so only a sync
 * without counts has it.
 */
function reportRow(appId: number, message: Message, envId: number | undefined) {
  const { report, instanceUuid, counts, syncedAt, framework } = message;
  if (!report) return undefined;
  const { timestamp, cpu_percent, memory_rss, client, versions, app_version } = report;
  return {
    app_id: appId,
    timestamp,
    app_env_id: envId,
    instance_uuid: instanceUuid ?? NIL_UUID,
    last_sync_at: counts.length === 0 ? (syncedAt ?? 0) : 0,
    cpu_percent: cpu_percent ?? -1,
    memory_rss: memory_rss ?? -1,
    client,
    versions,
    app_version,
    framework: framework ?? '',
  };
}

function groupByApp<T extends { app_id: number }>(all: readonly T[]): Map<number, T[]> {
  const apps = new Map<number, T[]>();
  for (const item of all) {
    const group = apps.get(item.app_id);
    if (group) group.push(item);
    else apps.set(item.app_id, [item]);
  }
  return apps;
}
