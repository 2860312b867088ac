import { Logger } from '@nestjs/common';
import { isOpen } from '../../clickhouse/clickhouse.errors.js';
import type { Telemetry } from '../../telemetry/telemetry.js';
import type { AppMessage, GroupBuilder } from './group-builder.js';
import { GroupQueue } from './group-queue.js';
import { type Group, type IngestLedger, type Recovery, keyOf } from './ingest.ledger.js';
import type { MessageLocks } from './message-locks.js';

const LINGER_MS = 10;
/** Pause between looks at what is left to do while nobody asks. */
const UPKEEP_MS = 1_000;

/**
 * Brings messages into the store, each once: `take` resolves once the store has a message for good, however often and
 * to whomever it is sent.
 *
 * A group whose fate the store did not tell (an answer that never came) is kept and tried again, unchanged, before
 * anything else is: its messages may be in the store, or get there later. So at most one such group is ever held.
 */
export class Committer {
  private readonly log = new Logger(Committer.name);
  private readonly queue: GroupQueue<AppMessage>;
  private readonly underWay = new Map<string, Promise<void>>();
  private unsettled?: Group;
  private readonly upkeep: NodeJS.Timeout;

  constructor(
    private readonly ledger: IngestLedger,
    private readonly builder: GroupBuilder,
    private readonly locks: MessageLocks,
    private readonly telemetry: Telemetry,
  ) {
    this.queue = new GroupQueue((messages) => this.measured(messages), LINGER_MS);
    telemetry.metrics?.gauge(
      { name: 'collector_queued_messages', help: 'Messages that wait for the group under way to end' },
      () => [{ value: this.queue.length }],
    );
    this.upkeep = setInterval(() => void this.keepUp(), UPKEEP_MS).unref();
  }

  /**
   * @param bytes what the message weighs in its group
   * @throws when the store cannot take it now, or another collector has it
   */
  take(message: AppMessage, bytes: number): Promise<void> {
    const key = keyOf(message);
    const outcome = this.underWay.get(key) ?? this.begin(message, bytes, key);
    this.underWay.set(key, outcome);
    return outcome;
  }

  /** Completes what broke off in this process or in another, at least so long ago. */
  recover(olderThanSeconds: number): Promise<Recovery> {
    return this.queue.between(() => this.ledger.recover(olderThanSeconds));
  }

  /** To be called once no message comes any more: marks what went through. */
  async close(): Promise<void> {
    clearInterval(this.upkeep);
    await this.queue.between(() => this.ledger.mark()).catch(() => undefined);
  }

  private async begin(message: AppMessage, bytes: number, key: string): Promise<void> {
    try {
      await this.locks.take(key);
      await this.queue.add(message, bytes);
    } finally {
      this.underWay.delete(key);
      if (!this.isUnsettled(key)) await this.locks.release(key);
    }
  }

  private async measured(messages: readonly AppMessage[]): Promise<Map<AppMessage, unknown>> {
    const { metrics, tracing } = this.telemetry;
    const commit = () => this.commit(messages);
    const startedAt = performance.now();
    let outcome: 'ok' | 'failed' = 'failed';
    try {
      const about = { 'request_analytics.messages': messages.length };
      const refused = await (tracing ? tracing.task('collector.commit', about, commit) : commit());
      outcome = 'ok';
      return refused;
    } finally {
      metrics?.observeCommit(outcome, (performance.now() - startedAt) / 1000, messages.length);
    }
  }

  /** Resolves to the messages whose group the engine refuses, with why: they must not keep the others out. */
  private async commit(messages: readonly AppMessage[]): Promise<Map<AppMessage, unknown>> {
    await this.settle();
    const { fresh, refused } = await this.ledger.fresh(messages);
    if (fresh.length > 0) await this.apply(await this.builder.build(fresh));
    return refused;
  }

  private async settle(): Promise<void> {
    const group = this.unsettled;
    if (!group) return;
    const keys = group.messages.map(keyOf);
    await this.locks.hold(keys);
    await this.apply(group);
    for (const key of keys) if (!this.underWay.has(key)) await this.locks.release(key);
  }

  private async apply(group: Group): Promise<void> {
    this.unsettled = group;
    try {
      await this.ledger.log(group);
      await this.ledger.through(group);
      this.unsettled = undefined;
    } catch (error) {
      // What the engine refused is not in the store, or is in the ledger: either way the message may come anew.
      if (!isOpen(error)) this.unsettled = undefined;
      throw error;
    }
  }

  private isUnsettled(key: string): boolean {
    return this.unsettled?.messages.some((message) => keyOf(message) === key) ?? false;
  }

  private async keepUp(): Promise<void> {
    if (this.underWay.size > 0) return;
    try {
      await this.queue.between(async () => {
        await this.settle();
        await this.ledger.mark();
      });
    } catch (error) {
      this.log.debug(error);
    }
  }
}
