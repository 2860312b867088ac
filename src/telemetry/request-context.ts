import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context, Span } from '@opentelemetry/api';

/** Which data of which app a request read or wrote; set once the app is known to be the caller's. */
export interface RequestLogFields {
  app_id?: number;
  /** The consumer of a filter. */
  consumer_id?: number | undefined;
  /** The request whose details were read. */
  request_uuid?: string;
  /** The tool that an agent called. */
  tool?: string;
}

/** A span that is recorded, with the context that makes others its children. */
export interface ActiveSpan {
  span: Span;
  context: Context;
}

/**
 * One unit of work, usually a request, and everything called in it: its queries end with it and are
 * attributed to it.
 */
export class RequestContext {
  private static readonly storage = new AsyncLocalStorage<RequestContext>();

  /** Rows and bytes that its queries read from the store's tables so far. */
  readonly stats = { rows: 0, bytes: 0 };
  readonly logFields: RequestLogFields = {};

  /**
   * @param signal aborts with `ClientDisconnected` when the client disconnects, with `QueryTimedOut` when the
   *   response takes too long; without one the work goes on
   * @param span new spans are its children; without one none begin
   * @param requestId of the response's `X-Request-Id`
   */
  constructor(
    public signal?: AbortSignal,
    readonly span?: ActiveSpan,
    readonly requestId?: string,
  ) {}

  /** The context of the running code; undefined outside of a unit of work. */
  static get current(): RequestContext | undefined {
    return RequestContext.storage.getStore();
  }

  /** Runs the work in this context, including its callbacks. */
  run<T>(work: () => T): T {
    return RequestContext.storage.run(this, work);
  }
}
