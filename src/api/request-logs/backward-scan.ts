import type { Window } from '../../shared/time/window.js';

/** One step of the scan. */
export interface ScanStep {
  window: Window;
  /** Largest number of records, newest first. */
  limit: number;
  /** Set after the first step did not find enough: matching records are rare, so the term index is faster. */
  useTermIndex: boolean;
}

/** The result of one step, newest first, and its length. */
export interface ScanResult {
  readonly length: number;
}

/**
 * Records of the app in the first step. The engine opens that range in 5 ms, compared with 9 ms for 15 days
 * over all partitions, and evaluates a selective filter on it in 3 ms.
 */
const FIRST_SCAN_ROWS = 50_000;
/** Factor on the estimated span of the second step, because matches come in clusters. */
const OVERSHOOT = 1.5;

/**
 * Reads the newest records of a window in one to three steps, newest first: a recent span, then a span that
 * should suffice by the matches of the first, then the rest. Each step reads only older data than the
 * previous one. So the result is the same as the result of one query over the whole window.
 *
 * @param rowsPerMs records of the app per millisecond without the filter; a wrong estimate only costs time
 */
export async function scanBackwards<F extends ScanResult>(
  window: Window,
  limit: number,
  rowsPerMs: number,
  scan: (step: ScanStep) => Promise<F>,
): Promise<F[]> {
  const pages: F[] = [];
  let { end } = window;
  let missing = limit;
  const scanSpan = async (span: number) => {
    const start = Math.max(window.start, end - span);
    const useTermIndex = end < window.end;
    const found = await scan({ window: { start, end }, limit: missing, useTermIndex });
    pages.push(found);
    end = start;
    missing -= found.length;
    return found.length;
  };
  const firstSpan = Math.ceil(FIRST_SCAN_ROWS / rowsPerMs);
  if (!isPart(firstSpan, window)) return [await scan({ window, limit, useTermIndex: false })];
  const found = await scanSpan(firstSpan);
  if (missing > 0 && found > 0) {
    const estimatedSpan = Math.ceil((missing / found) * firstSpan * OVERSHOOT);
    if (isPart(estimatedSpan, { start: window.start, end })) await scanSpan(estimatedSpan);
  }
  if (missing > 0) await scanSpan(end - window.start);
  return pages;
}

/** Whether a span is short enough, compared with the window, for a separate step. */
function isPart(span: number, { start, end }: Window): boolean {
  return span * 2 < end - start;
}
