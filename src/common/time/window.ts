/** A stretch of time in milliseconds since the Unix epoch: `start` inclusive, `end` exclusive. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** What a client said of its window, and what stands in for what it left out; milliseconds throughout. */
export interface WindowRequest {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  /** The request's one "now". */
  readonly now: number;
  /** How far before `now` the window starts by default. */
  readonly defaultSpanMs: number;
}

/**
 * The window that a request means, cut to what is retained (docs/contract.md#windows). A window that ends before
 * `retainedFrom` is no error: it comes out with `start >= end`, and holds nothing.
 */
export function resolveWindow(request: WindowRequest & { readonly retainedFrom: number }): Window {
  const { start, end } = withDefaults(request);
  return { start: Math.max(start, request.retainedFrom), end };
}

/**
 * Whether the window, defaults filled in, starts before it ends; if not, the request is a 422
 * (docs/contract.md#validation). Judged before the cut to the retention, which may leave an honest window empty.
 */
export function startsBeforeEnd(request: WindowRequest): boolean {
  const { start, end } = withDefaults(request);
  return start < end;
}

/** The default start counts back from now, also where another end was given (docs/contract.md#windows). */
function withDefaults({ start, end, now, defaultSpanMs }: WindowRequest): Window {
  return { start: start ?? now - defaultSpanMs, end: end ?? now };
}
