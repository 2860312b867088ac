import { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Metrics } from '../metrics/metrics.js';
import { type RejectedEntries, rejectedField } from './protocol/items.js';

/** Where a rejected message or entry came from. */
export interface RejectionOrigin {
  app_id: number;
  env: string;
  /** Of the message: `startup`, `sync`, `log`. */
  kind: string;
}

/** An application repeats its mistake with every message: one line a minute tells as much. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Reports what the collector rejects, to the log and to the metrics: client libraries drop the body of a 422, so the
 * operator would be the last to know.
 */
export class RejectionReporter {
  private readonly log = new Logger('Collector');
  private readonly logged = new LRUCache<string, true>({ max: 10_000, ttl: LOG_INTERVAL_MS });

  constructor(private readonly metrics: Metrics | null) {}

  /** A whole message. */
  reportMessage(origin: RejectionOrigin, reason: string): void {
    this.metrics?.countRejected(origin.kind, 'message', rejectedField(reason), 1);
    this.write(origin, 'message rejected', reason);
  }

  /** Entries of a message whose rest was accepted. */
  reportEntries(origin: RejectionOrigin, { count, reason = '', byField }: RejectedEntries): void {
    for (const [field, entries] of byField) this.metrics?.countRejected(origin.kind, 'entry', field, entries);
    this.write(origin, `${count} ${count === 1 ? 'entry' : 'entries'} rejected`, reason);
  }

  private write({ app_id, env, kind }: RejectionOrigin, what: string, reason: string): void {
    const key = [app_id, kind, rejectedField(reason)].join();
    if (this.logged.has(key)) return;
    this.logged.set(key, true);
    this.log.warn(`app ${app_id}, ${env}, ${kind}: ${what}: ${reason}`);
  }
}
