import type { Window } from '../common/time/window.js';

/** What is to be looked at. */
export interface ScanStep {
  window: Window;
  /** The newest records of the window, so many at most. */
  limit: number;
  /** Nearer records were looked at and did not suffice: those that are wanted are few among many. */
  useTermIndex: boolean;
}

/** What one look found, newest first, and how many that are. */
export interface ScanResult {
  readonly length: number;
}

/**
 * How much of a window is looked at first, in records of the app. The engine finds its way into so many in 5 ms where
 * 15 days over all partitions take 9, and reads a rarely fulfilled filter through them in 3.
 */
const FIRST_SCAN_ROWS = 50_000;
/** How much further than the found records promise: they come in clusters. */
const OVERSHOOT = 1.5;

/**
 * The newest records of a window, as one to three finds, newest first: those of its end, and older ones only where they do
 * not suffice. First a near window, then one as large as what it held promises, then all that is left; each looks only at
 * what is older than the one before, so whatever the steps are, the records are those of one look at the whole window.
 *
 * @param rowsPerMs records of the app per millisecond, whatever the filter; a bad guess costs time, nothing else
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

/** Whether a span is so much shorter than a window that looking at it alone may pay. */
function isPart(span: number, { start, end }: Window): boolean {
  return span * 2 < end - start;
}
