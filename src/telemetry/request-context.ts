import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context, Span } from '@opentelemetry/api';

/** Which data of which app a request read or wrote; set once the app is known to be the caller's. */
export interface RequestLogFields {
  app_id?: number;
  /** Of a filter. */
  consumer_id?: number | undefined;
  /** The request that was read in full. */
  request_uuid?: string;
  /** That an agent called. */
  tool?: string;
}

/** A span that is recorded, with the context that makes others its children. */
export interface ActiveSpan {
  span: Span;
  context: Context;
}

/**
 * One unit of work, usually a request, for all that is called in it: its queries end with it and are
 * attributed to it.
 */
export class RequestContext {
  private static readonly storage = new AsyncLocalStorage<RequestContext>();

  /** What its queries read of the store's tables so far. */
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

  /** That of the running code; undefined outside of a unit of work. */
  static get current(): RequestContext | undefined {
    return RequestContext.storage.getStore();
  }

  /** Does the work in this context, to the last of its callbacks. */
  run<T>(work: () => T): T {
    return RequestContext.storage.run(this, work);
  }
}
