/** A stretch of time in milliseconds since the Unix epoch: `start` inclusive, `end` exclusive. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** The window of a request and its defaults, in milliseconds. */
interface WindowRequest {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  /** The time of the request; all its defaults count from it. */
  readonly now: number;
  /** How far before `now` the window starts by default. */
  readonly defaultSpanMs: number;
}

/**
 * The window of a request, cut to the retention (docs/contract.md#windows). A window that ends before
 * `retainedFrom` is not an error: the result has `start >= end` and is empty.
 */
export function resolveWindow(request: WindowRequest & { readonly retainedFrom: number }): Window {
  const { start, end } = withDefaults(request);
  return { start: Math.max(start, request.retainedFrom), end };
}

/**
 * Whether the window with defaults starts before it ends; if not, the request is a 422
 * (docs/contract.md#validation). Checked before the cut to the retention, which may leave a valid window
 * empty.
 */
export function startsBeforeEnd(request: WindowRequest): boolean {
  const { start, end } = withDefaults(request);
  return start < end;
}

/** The default start counts back from now, also if `end` was sent (docs/contract.md#windows). */
function withDefaults({ start, end, now, defaultSpanMs }: WindowRequest): Window {
  return { start: start ?? now - defaultSpanMs, end: end ?? now };
}
