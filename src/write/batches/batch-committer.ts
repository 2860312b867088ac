import { Logger } from '@nestjs/common';
import { isOutcomeUnknown } from '../../store/client/clickhouse.errors.js';
import { Slices } from '../../shared/async/slices.js';
import { runEvery } from '../../shared/async/run-every.js';
import { RequestContext } from '../../telemetry/request-context.js';
import { type Batch, type BatchLog, type Recovery, messageKey } from '../batch-log.js';
import { NIL_UUID } from '../../shared/nil-uuid.js';
import { requestKey } from '../known-requests.js';
import { hasOperation } from '../../records/operation.js';
import { type Hold, LeaseLost } from '../../coordination/lease.js';
import type { RequestClaims } from '../request-claims.js';
import type { Telemetry } from '../../telemetry/telemetry.js';
import { ApiDocuments } from './api-documents.js';
import { type AppMessage, type BatchBuilder, type OperatedEndpoints, requestsIn } from './batch-builder.js';
import { BatchQueue } from './batch-queue.js';
import type { DueInstances, InstanceCounts } from './instance-counts.js';
import type { MessageLocks } from './message-locks.js';
import type { TraceExceptions } from './trace-exceptions.js';

const BATCH_DELAY_MS = 10;
/** How often an idle committer checks for a batch in doubt and for unwritten marks. */
const MAINTENANCE_INTERVAL_MS = 1_000;
/** Client libraries retry, so a 503 is better than a queue that waits for an import. */
const WAIT_FOR_CLAIMS_MS = 2_000;

/**
 * Commits each message once, also if it is sent repeatedly or to several collectors. `commit` resolves once
 * the message is stored durably.
 *
 *                      ┌───────────── committed ────────────▶ acknowledged
 *     in flight ──▶ batch ── outcome unknown ──▶ in doubt ──▶ committed again, unchanged, before any other
 *     batch
 *                      └──────── rejected by the engine ─────▶ failed: the client library may send it again
 *
 * The outcome of a batch is unknown after a timeout or a lost connection: its messages may be written, now or
 * later. At most one batch is in doubt, because batches are committed one after another.
 */
export class BatchCommitter {
  private readonly log = new Logger(BatchCommitter.name);
  private readonly queue: BatchQueue<AppMessage>;
  private readonly inFlight = new Map<string, Promise<void>>();
  private inDoubt?: { batch: Batch; hold: Hold };
  private readonly maintenance: NodeJS.Timeout;

  constructor(
    private readonly batchLog: BatchLog,
    private readonly builder: BatchBuilder,
    private readonly instances: InstanceCounts,
    private readonly exceptions: TraceExceptions,
    private readonly locks: MessageLocks,
    private readonly claims: RequestClaims,
    private readonly telemetry: Telemetry,
  ) {
    this.queue = new BatchQueue((messages) => this.commitMeasured(messages), BATCH_DELAY_MS);
    telemetry.metrics?.gauge(
      { name: 'collector_queued_messages', help: 'Messages that wait for the current batch to end' },
      () => [{ value: this.queue.length }],
    );
    this.maintenance = runEvery(MAINTENANCE_INTERVAL_MS, () => this.runMaintenance());
  }

  /**
   * @param weight estimated characters of the message's rows
   * @throws if the store is unavailable, or another collector has the message
   */
  commit(message: AppMessage, weight: number): Promise<void> {
    const key = messageKey(message);
    const outcome = this.inFlight.get(key) ?? this.begin(message, weight, key);
    this.inFlight.set(key, outcome);
    return outcome;
  }

  /** Applies batches of any process that have been unapplied for at least that many seconds. */
  recover(olderThanSeconds: number): Promise<Recovery> {
    return this.queue.runExclusive(() => this.batchLog.recover(olderThanSeconds));
  }

  /** Counts the spans of instances that sent no metric of their requests for long enough. */
  async settle(): Promise<void> {
    const failed = new Set<number>();
    let triedBefore = -1;
    // Due instances are found in parts: if an app's part fails, other apps must still get their turn.
    while (failed.size > triedBefore) {
      triedBefore = failed.size;
      for (const due of await this.instances.findDue([...failed])) {
        if (failed.has(due.app_id)) continue;
        try {
          await this.queue.runExclusive(() => this.settleInstances(due));
        } catch (error) {
          failed.add(due.app_id);
          this.log.warn(
            `app ${due.app_id}: spans not counted yet: ${error instanceof Error ? error.message : String(error)}`,
          );
        }
      }
    }
  }

  /**
   * Counts exceptions of requests that are in their traces as errors. Those in a batch that a dead process
   * did not apply look uncounted: its claim, and the time between two calls, last until the batch is
   * recovered.
   */
  async countExceptions(): Promise<void> {
    const { appIds, window } = await this.exceptions.findDue();
    for (const appId of appIds)
      try {
        await this.claims.run([`errors/${appId}`], WAIT_FOR_CLAIMS_MS, async (hold) => {
          await this.queue.runExclusive(() => this.resolveInDoubt());
          const counted = new Set<string>();
          for (;;) {
            // Outside of the queue: it may take seconds where many requests failed.
            const found = await this.exceptions.find(appId, window);
            const rows = found.filter(({ request_uuid }) => !counted.has(request_uuid));
            const batch = await this.builder.buildErrors(rows);
            if (!batch) return;
            await this.queue.runExclusive(() => this.write(batch, hold));
            for (const { request_uuid } of rows) counted.add(request_uuid);
          }
        });
      } catch (error) {
        this.log.warn(
          `app ${appId}: exceptions not counted yet: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
  }

  private async settleInstances(due: DueInstances): Promise<void> {
    await this.resolveInDoubt();
    const keys = due.instances.map((instance) => instanceKey(due.app_id, instance));
    await this.claims.run(keys, WAIT_FOR_CLAIMS_MS, async (hold) => {
      const batch = await this.builder.buildSettled(due);
      if (batch) await this.write(batch, hold);
    });
  }

  /** Call after the last message: marks applied batches. */
  async close(): Promise<void> {
    clearInterval(this.maintenance);
    await this.queue.runExclusive(() => this.batchLog.markApplied()).catch(() => undefined);
  }

  private async begin(message: AppMessage, weight: number, key: string): Promise<void> {
    try {
      await this.locks.acquire(key);
      await this.queue.add(message, weight, message.app_id);
    } finally {
      this.inFlight.delete(key);
      if (!this.isInDoubt(key)) await this.locks.release(key);
    }
  }

  private async commitMeasured(messages: readonly AppMessage[]): Promise<Map<AppMessage, unknown>> {
    const { metrics, tracing } = this.telemetry;
    const commit = () => this.commitBatch(messages);
    const startedAt = performance.now();
    let outcome: 'ok' | 'failed' = 'failed';
    try {
      const attributes = { 'request_analytics.messages': messages.length };
      const rejected = await (tracing
        ? tracing.task('collector.commit', attributes, commit)
        : new RequestContext().run(commit));
      outcome = 'ok';
      return rejected;
    } finally {
      metrics?.observeCommit(outcome, (performance.now() - startedAt) / 1000, messages.length);
    }
  }

  /**
   * Resolves to the messages whose earlier batch is not applied, with the reasons. They must not block other
   * messages.
   */
  private async commitBatch(messages: readonly AppMessage[]): Promise<Map<AppMessage, unknown>> {
    await this.resolveInDoubt();
    const { unseen, rejected } = await this.batchLog.filterUnseen(messages);
    if (unseen.length > 0) {
      // A batch may have tens of thousands of requests.
      const work = new Slices();
      const requests = requestsIn(unseen);
      const requestKeys = requests.map(requestKey);
      if (work.isOver) await work.giveWay();
      const operated = await work.wait(this.builder.findOperated(unseen));
      const instances = instanceKeysIn(unseen, operated);
      const keys = [...new Set([...requestKeys, ...instances, ...documentKeysIn(unseen)])];
      if (work.isOver) await work.giveWay();
      await this.claims.run(keys, WAIT_FOR_CLAIMS_MS, async (hold) => {
        if (work.isOver) await work.giveWay();
        const unfinished = await this.batchLog.finish(requestKeys);
        for (const message of unfinished.size > 0 ? unseen : [])
          for (const request of requestsIn([message])) {
            const earlier = unfinished.get(requestKey(request));
            if (earlier) rejected.set(message, earlier.reason);
          }
        const free = unseen.filter((message) => !rejected.has(message));
        const freeRequests = free.length === unseen.length ? requests : requestsIn(free);
        if (free.length > 0) await this.write(await this.builder.build(free, freeRequests, operated), hold);
      });
    }
    return rejected;
  }

  private async resolveInDoubt(): Promise<void> {
    const { inDoubt } = this;
    if (!inDoubt) return;
    const { batch, hold } = inDoubt;
    const keys = batch.messages.map(messageKey);
    await this.locks.extend(keys);
    try {
      await this.write(batch, hold);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      // Another process may have written the same requests. What the log does not have by now, it never will.
      this.inDoubt = inDoubt;
      await this.batchLog.applyAppended(batch.id);
      this.inDoubt = undefined;
    }
    for (const key of keys) if (!this.inFlight.has(key)) await this.locks.release(key);
  }

  private async write(batch: Batch, hold: Hold): Promise<void> {
    this.inDoubt = { batch, hold };
    try {
      await this.batchLog.write(batch, hold);
      this.inDoubt = undefined;
    } catch (error) {
      // The rejected rows either are not in the store, or are in the log: in both cases the message may be
      // sent again.
      if (!isOutcomeUnknown(error)) this.inDoubt = undefined;
      throw error;
    }
  }

  private isInDoubt(key: string): boolean {
    return this.inDoubt?.batch.messages.some((message) => messageKey(message) === key) ?? false;
  }

  private async runMaintenance(): Promise<void> {
    if (this.inFlight.size > 0) return;
    try {
      await this.queue.runExclusive(async () => {
        await this.resolveInDoubt();
        await this.batchLog.markApplied();
      });
    } catch (error) {
      this.log.debug(error);
    }
  }
}

/**
 * The claims on the instances of messages that count by spans, by metrics or by log records, and on what
 * client libraries count by routes that have operations. The decisions how an instance is counted, whether a
 * record was counted before, and which operation a counted request had, are made once.
 */
function instanceKeysIn(messages: readonly AppMessage[], operated: OperatedEndpoints): string[] {
  return messages.flatMap(
    ({ app_id, message: { instanceUuid, spanCounts, points, errors, counts, logs } }) => {
      if (spanCounts.length > 0 || points.length > 0 || errors.some(({ record }) => record !== undefined))
        return instanceKey(app_id, instanceUuid ?? NIL_UUID);
      const isOperated = counts.length > 0 && (operated.get(app_id)?.size ?? 0) > 0;
      return isOperated || logs.some(({ path }) => hasOperation(path)) ? instanceKey(app_id, NIL_UUID) : [];
    },
  );
}

/** The claims on the documents of apps: one writer chooses which documents are stored. */
function documentKeysIn(messages: readonly AppMessage[]): string[] {
  return messages.flatMap(({ app_id, message }) => (message.apiDocument ? [ApiDocuments.claim(app_id)] : []));
}

function instanceKey(appId: number, instanceUuid: string): string {
  return `instance/${appId}/${instanceUuid}`;
}
