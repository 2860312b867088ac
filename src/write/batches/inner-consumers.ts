import { LRUCache } from 'lru-cache';
import type { ConsumerRecord } from '../../records/request-record.js';
import { findRequestUuid } from '../../records/server-span.js';
import type { SpanRecord } from '../../records/span-record.js';
import type { Steps } from '../../shared/async/slices.js';
import type { Message } from './message.js';

/** How long a span that ended before its request is remembered for it. */
const REMEMBERED_MS = 600_000;
const MAX_APPS = 20;
const MAX_SPANS_OF_APP = 5_000;
/** Spans between a span and its request; with more there may be a circle. */
const MAX_STEPS = 1_000;

/** A consumer that a span below a request names, and the lowest span above it that has not arrived. */
interface Named {
  readonly trace_id: string;
  readonly above: string;
  readonly steps: number;
  readonly consumer: ConsumerRecord;
}

type SpansOfApp = LRUCache<string, Named>;

/** Spans that name a consumer, and whose request has not arrived or is not written yet. */
export class InnerConsumers {
  private readonly apps = new LRUCache<number, SpansOfApp>({ max: MAX_APPS });

  ofApp(appId: number): BodyConsumers {
    return new BodyConsumers(() => {
      const known = this.apps.get(appId) ?? new LRUCache({ max: MAX_SPANS_OF_APP, ttl: REMEMBERED_MS });
      this.apps.set(appId, known);
      return known;
    }, this.apps.get(appId));
  }
}

/**
 * Consumers of the requests of a body, or of a batch, that spans below them name: in Node.js, the active span
 * of a handler is that of a middleware. Such spans end before their request, so they are in the same body or
 * in an earlier one; a sender of several bodies at once may also send them while the request waits to be
 * written.
 */
export class BodyConsumers {
  private readonly named: Named[] = [];

  constructor(
    private readonly remember: () => SpansOfApp,
    private readonly earlier?: SpansOfApp,
  ) {}

  addNamed({ trace_id, parent_span_id }: SpanRecord, consumer: ConsumerRecord): void {
    this.named.push({ trace_id, above: parent_span_id, steps: 0, consumer });
  }

  /**
   * Gives requests without consumer that of the nearest span below them that is not below another SERVER
   * span.
   */
  *assign(messages: readonly Message[]): Steps<void> {
    const earlier = this.earlier?.size ? this.earlier : undefined;
    if (this.named.length === 0 && earlier === undefined) return;
    const spans = new Map<string, SpanRecord>();
    for (const message of messages)
      for (const span of message.spans) {
        const key = toKey(span.trace_id, span.span_id);
        const waiting = earlier?.get(key);
        // It stays known: the body may come again.
        if (waiting) this.named.push(waiting);
        spans.set(key, span);
        yield;
      }
    const nearest = new Map<string, Named>();
    for (const named of this.named) {
      const found = findRequest(named, spans);
      if (!found) continue;
      const { steps, above, server } = found;
      const key = server
        ? findRequestUuid(named.trace_id, above, BigInt(server.start_time_ns))
        : toKey(named.trace_id, above);
      const known = server ? nearest : this.remember();
      if (steps < (known.get(key)?.steps ?? Infinity)) known.set(key, { ...named, above, steps });
      yield;
    }
    for (const { logs, spanCounts } of nearest.size > 0 ? messages : [])
      for (const request of [...logs, ...spanCounts]) {
        request.consumer ??= nearest.get(request.request_uuid)?.consumer ?? null;
        yield;
      }
  }
}

/** The SERVER span above, or the first span above that is not there; undefined if there is none. */
function findRequest({ trace_id, above, steps }: Named, spans: ReadonlyMap<string, SpanRecord>) {
  for (let id = above; id !== '' && steps < MAX_STEPS; steps++) {
    const span = spans.get(toKey(trace_id, id));
    if (!span || span.kind === 'SERVER') return { above: id, steps, server: span };
    id = span.parent_span_id;
  }
  return undefined;
}

function toKey(traceId: string, spanId: string): string {
  return `${traceId}/${spanId}`;
}
