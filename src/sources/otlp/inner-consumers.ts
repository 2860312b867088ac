import { LRUCache } from 'lru-cache';
import type { Steps } from '../../shared/async/slices.js';
import type { ConsumerRecord, RequestRecord } from '../../records/request-record.js';
import type { SpanRecord } from '../../records/span-record.js';
import type { Message, SpanCount } from '../../write/batches/message.js';

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

/** Spans of earlier bodies that name a consumer, and whose request has not arrived. */
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
 * Consumers of the requests of a body that spans below them name: in Node.js, the active span of a handler is
 * that of a middleware. Such spans end before their request, so they are in the same body or in an earlier
 * one.
 */
export class BodyConsumers {
  private readonly named: Named[] = [];
  private readonly requests = new Map<string, { request: RequestRecord; count: SpanCount }>();

  constructor(
    private readonly remember: () => SpansOfApp,
    private readonly earlier?: SpansOfApp,
  ) {}

  addNamed({ trace_id, parent_span_id }: SpanRecord, consumer: ConsumerRecord): void {
    this.named.push({ trace_id, above: parent_span_id, steps: 0, consumer });
  }

  /** Adds a request without consumer. */
  addRequest({ trace_id, span_id }: SpanRecord, request: RequestRecord, count: SpanCount): void {
    this.requests.set(toKey(trace_id, span_id), { request, count });
  }

  /** Gives requests the consumer of the nearest span below them that is not below another SERVER span. */
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
    const nearest = new Map<string, number>();
    for (const named of this.named) {
      const found = findRequest(named, spans);
      if (found?.isServer) {
        const target = this.requests.get(found.key);
        if (target && found.steps < (nearest.get(found.key) ?? Infinity)) {
          nearest.set(found.key, found.steps);
          target.request.consumer = named.consumer;
          target.count.consumer = named.consumer;
        }
      } else if (found) this.remember().set(found.key, { ...named, above: found.above, steps: found.steps });
      yield;
    }
  }
}

/** The SERVER span above, or the first span above that is not there; undefined if there is none. */
function findRequest({ trace_id, above, steps }: Named, spans: ReadonlyMap<string, SpanRecord>) {
  for (let id = above; id !== '' && steps < MAX_STEPS; steps++) {
    const key = toKey(trace_id, id);
    const span = spans.get(key);
    if (!span || span.kind === 'SERVER') return { key, above: id, steps, isServer: span !== undefined };
    id = span.parent_span_id;
  }
  return undefined;
}

function toKey(traceId: string, spanId: string): string {
  return `${traceId}/${spanId}`;
}
