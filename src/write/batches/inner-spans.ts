import type { LRUCache } from 'lru-cache';
import { createCache } from '../../shared/create-cache.js';
import { type CapturedException, captureException } from '../../records/capture.js';
import { addOperation, hasOperation } from '../../records/operation.js';
import type { Redactor } from '../../records/redaction/redactor.js';
import type { ConsumerRecord, RequestRecord } from '../../records/request-record.js';
import { findRequestUuid } from '../../records/server-span.js';
import type { SpanRecord } from '../../records/span-record.js';
import { truncate } from '../../records/text.js';
import type { Steps } from '../../shared/async/slices.js';
import type { Message } from './message.js';

/** How long a span that ended before its request is remembered for it. */
const REMEMBERED_MS = 600_000;
const MAX_APPS = 20;
const MAX_SPANS_OF_APP = 5_000;
/** Characters of the message of an error that waits for its request in memory. */
const MAX_WAITING_MESSAGE = 256;
/** Spans between a span and its request; with more there may be a circle. */
const MAX_STEPS = 1_000;
const UNKNOWN_ERROR = { type: 'Error', message: '', stacktrace: '', tracker_event_id: null };

/** What a request does within its endpoint. */
export interface Operation {
  readonly name: string;
  readonly error: CapturedException | null;
}

/** A consumer, or an operation. */
type Said =
  | { readonly kind: 'consumer'; readonly consumer: ConsumerRecord }
  | { readonly kind: 'operation'; readonly operation: Operation };
const KINDS = ['consumer', 'operation'] as const satisfies Said['kind'][];

/** What a span says of the request above it, and the lowest span above it that has not arrived. */
type Statement = Said & { readonly trace_id: string; readonly above: string; readonly steps: number };

type SpansOfApp = LRUCache<string, Statement>;

/** What spans say of requests that are not in the same body: by the kind and the span above them. */
export type WaitingStatements = Map<string, Statement>;

/** Spans that say something of a request above them that has not arrived or is not written yet. */
export class InnerSpans {
  private readonly apps = createCache<number, SpansOfApp>(MAX_APPS);

  constructor(private readonly redactor: Redactor) {}

  ofApp(appId: number): BodySpans {
    return new BodySpans(this.redactor, this.apps.get(appId));
  }

  remember(appId: number, waiting: WaitingStatements): void {
    if (waiting.size === 0) return;
    const statements = this.apps.get(appId) ?? createCache(MAX_SPANS_OF_APP, { ttl: REMEMBERED_MS });
    this.apps.set(appId, statements);
    for (const [key, statement] of waiting)
      if (statement.steps < (statements.get(key)?.steps ?? Infinity)) statements.set(key, statement);
  }
}

/**
 * What spans below the requests of a body, or of a batch, say of them: their consumer (in Node.js, the active
 * span of a handler is that of a middleware) or their operation. Such spans end before their request, so they
 * are in the same body or in an earlier one; a sender of several bodies at once may also send them while the
 * request waits to be written.
 */
export class BodySpans {
  /** What `assign` found no request for. */
  readonly waiting: WaitingStatements = new Map();
  private readonly statements: Statement[] = [];

  /** @param earlier what spans of earlier bodies said; by default nothing */
  constructor(
    private readonly redactor: Redactor,
    private readonly earlier?: SpansOfApp,
  ) {}

  addConsumer({ trace_id, parent_span_id }: SpanRecord, consumer: ConsumerRecord): void {
    this.statements.push({ trace_id, above: parent_span_id, steps: 0, kind: 'consumer', consumer });
  }

  /**
   * @param links what the span is linked with: the span above it may be that of the client, and the request
   * that brought the message a link
   */
  addOperation(
    { trace_id, parent_span_id }: SpanRecord,
    links: readonly { trace_id: string; span_id: string }[],
    operation: Operation,
  ): void {
    for (const above of [{ trace_id, span_id: parent_span_id }, ...links])
      this.statements.push({
        trace_id: above.trace_id,
        above: above.span_id,
        steps: 0,
        kind: 'operation',
        operation,
      });
  }

  /**
   * Gives requests what the nearest span below them that is not below another request says: the consumer if
   * they have none, and the operation.
   */
  *assign(messages: readonly Message[]): Steps<void> {
    const earlier = this.earlier?.size ? this.earlier : undefined;
    if (this.statements.length === 0 && earlier === undefined) return;
    const spans = new Map<string, SpanRecord>();
    for (const message of messages)
      for (const span of message.spans) {
        for (const kind of KINDS) {
          const waiting = earlier?.get(toKey(kind, span.trace_id, span.span_id));
          // It stays known: the body may come again.
          if (waiting) this.statements.push(waiting);
        }
        spans.set(toSpanKey(span.trace_id, span.span_id), span);
        yield;
      }
    const nearest = new Map<string, Statement & { server?: SpanRecord }>();
    for (const statement of this.statements) {
      const found = findRequest(statement, spans);
      if (!found) continue;
      const { steps, above, server } = found;
      const { kind, trace_id } = statement;
      if (server) {
        const key = `${kind}/${findRequestUuid(trace_id, above, BigInt(server.start_time_ns))}`;
        if (steps < (nearest.get(key)?.steps ?? Infinity)) nearest.set(key, { ...statement, steps, server });
      } else {
        const key = toKey(kind, trace_id, above);
        if (steps < (this.waiting.get(key)?.steps ?? Infinity))
          this.waiting.set(key, this.shorten({ ...statement, above, steps }));
        if (this.waiting.size > MAX_SPANS_OF_APP) {
          // More are not remembered.
          const [oldest = ''] = this.waiting.keys();
          this.waiting.delete(oldest);
        }
      }
      yield;
    }
    for (const { logs, spanCounts } of nearest.size > 0 ? messages : []) {
      for (const request of [...logs, ...spanCounts]) {
        const named = nearest.get(`consumer/${request.request_uuid}`);
        if (named?.kind === 'consumer') request.consumer ??= named.consumer;
        const operated = nearest.get(`operation/${request.request_uuid}`);
        if (operated?.kind !== 'operation') continue;
        request.path = addOperation(request.path, operated.operation.name);
        if ('captured_json' in request) captureError(request, operated.operation.error, operated.server);
        yield;
      }
    }
  }

  /** What waits in memory is small, and is joined with a request that is redacted already. */
  private shorten(statement: Statement): Statement {
    if (statement.kind === 'consumer') return statement;
    const { name, error } = statement.operation;
    const shortened = error && {
      ...error,
      type: this.redactor.redactText(error.type),
      message: truncate(this.redactor.redactText(error.message), MAX_WAITING_MESSAGE),
      stacktrace: '',
    };
    return {
      ...statement,
      operation: { name: this.redactor.redactPath(name) ?? name, error: shortened },
    };
  }
}

/** Of a server error, the exception is found by its trace. */
function captureError(request: RequestRecord, error: CapturedException | null, server?: SpanRecord) {
  if (request.status_code >= 500 || !hasOperation(request.path)) return;
  const found = error ?? (server?.status === 'ERROR' ? UNKNOWN_ERROR : null);
  if (found) request.captured_json = captureException(request.captured_json, found);
}

/** The SERVER span above, or the first span above that is not there; undefined if there is none. */
function findRequest({ trace_id, above, steps, kind }: Statement, spans: ReadonlyMap<string, SpanRecord>) {
  for (let id = above; id !== '' && steps < MAX_STEPS; steps++) {
    const span = spans.get(toSpanKey(trace_id, id));
    if (!span || isRequest(span)) return { above: id, steps, server: span };
    // The operation is that of the request that is sent, not of the one above.
    if (kind === 'operation' && span.kind === 'CLIENT') return undefined;
    id = span.parent_span_id;
  }
  return undefined;
}

/** Whether a span is a request to the server; messages of MCP have spans of kind SERVER within a request. */
function isRequest({ kind, attributes }: SpanRecord): boolean {
  return kind === 'SERVER' && (!MCP_MESSAGE.test(attributes) || HTTP_METHOD.test(attributes));
}

const MCP_MESSAGE = /[{,]"mcp\.method\.name":/;
const HTTP_METHOD = /[{,]"http\.(?:request\.)?method":/;

function toKey(kind: Said['kind'], traceId: string, spanId: string): string {
  return `${kind}/${toSpanKey(traceId, spanId)}`;
}

function toSpanKey(traceId: string, spanId: string): string {
  return `${traceId}/${spanId}`;
}
