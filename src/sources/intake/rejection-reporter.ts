import { Logger } from '@nestjs/common';
import { createCache } from '../../shared/create-cache.js';
import type { Metrics } from '../../telemetry/metrics/metrics.js';
import { type RejectedEntries, rejectedField } from '../../write/batches/rejected-entries.js';

/** The source of a rejected message or entry. */
export interface RejectionOrigin {
  app_id: number;
  env: string;
  /** The kind of the message: `startup`, `sync`, `log`. */
  kind: string;
}

/** An application repeats an error with every message, so one line a minute is enough. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Reports rejected input in the log and the metrics: client libraries ignore the body of a 422, so the
 * operator would not notice.
 */
export class RejectionReporter {
  private readonly log = new Logger('Collector');
  private readonly logged = createCache<string, true>(10_000, { ttl: LOG_INTERVAL_MS });

  constructor(private readonly metrics: Metrics | null) {}

  /** Reports a rejected message. */
  reportMessage(origin: RejectionOrigin, reason: string): void {
    this.metrics?.countRejected(origin.kind, 'message', rejectedField(reason), 1);
    this.write(origin, 'message rejected', reason);
  }

  /** Reports entries and optional members that were left out of an accepted message. */
  reportRejected(origin: RejectionOrigin, rejected: RejectedEntries): void {
    const { count, reason = '', warning, byField, members } = rejected;
    for (const [field, entries] of byField) this.metrics?.countRejected(origin.kind, 'entry', field, entries);
    for (const [member, times] of members) this.metrics?.countRejected(origin.kind, 'member', member, times);
    if (count > 0) this.write(origin, `${count} ${count === 1 ? 'entry' : 'entries'} rejected`, reason);
    const unlogged = [...members.keys()].filter((member) => this.isDue(origin, `member ${member}`));
    const why = warning !== undefined && unlogged.includes(rejectedField(warning)) ? `; ${warning}` : '';
    if (unlogged.length > 0) this.warn(origin, `members left out: ${unlogged.join(', ')}${why}`);
  }

  private write(origin: RejectionOrigin, kind: string, reason: string): void {
    if (this.isDue(origin, rejectedField(reason))) this.warn(origin, `${kind}: ${reason}`);
  }

  private isDue({ app_id, kind }: RejectionOrigin, field: string): boolean {
    const key = [app_id, kind, field].join();
    if (this.logged.has(key)) return false;
    this.logged.set(key, true);
    return true;
  }

  private warn({ app_id, env, kind }: RejectionOrigin, text: string): void {
    this.log.warn(`app ${app_id}, ${env}, ${kind}: ${text}`);
  }
}
