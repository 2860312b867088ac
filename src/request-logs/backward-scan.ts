import type { Window } from '../common/time/window.js';

/** What is to be looked at. */
export interface Look {
  window: Window;
  /** The newest records of the window, so many at most. */
  limit: number;
  /** Nearer records were looked at and did not suffice: those that are wanted are few among many. */
  isFar: boolean;
}

/** What one look found, newest first, and how many that are. */
export interface Find {
  readonly length: number;
}

/**
 * How much of a window is looked at first, in records of the app. The engine finds its way into so many in 5 ms where
 * 15 days over all partitions take 9, and reads a rarely fulfilled filter through them in 3.
 */
const NEAR_RECORDS = 50_000;
/** How much further than the found records promise: they come in clusters. */
const RESERVE = 1.5;

/**
 * The newest records of a window, as one to three finds, newest first: those of its end, and older ones only where they do
 * not suffice. First a near window, then one as large as what it held promises, then all that is left; each looks only at
 * what is older than the one before, so whatever the steps are, the records are those of one look at the whole window.
 *
 * @param density records of the app per millisecond, whatever the filter; a bad guess costs time, nothing else
 */
export async function newestFirst<F extends Find>(
  window: Window,
  limit: number,
  density: number,
  ask: (look: Look) => Promise<F>,
): Promise<F[]> {
  const finds: F[] = [];
  let { end } = window;
  let missing = limit;
  const look = async (span: number) => {
    const start = Math.max(window.start, end - span);
    const isFar = end < window.end;
    const found = await ask({ window: { start, end }, limit: missing, isFar });
    finds.push(found);
    end = start;
    missing -= found.length;
    return found.length;
  };
  const near = Math.ceil(NEAR_RECORDS / density);
  if (!isPart(near, window)) return [await ask({ window, limit, isFar: false })];
  const found = await look(near);
  if (missing > 0 && found > 0) {
    const promising = Math.ceil((missing / found) * near * RESERVE);
    if (isPart(promising, { start: window.start, end })) await look(promising);
  }
  if (missing > 0) await look(end - window.start);
  return finds;
}

/** Whether a span is so much shorter than a window that looking at it alone may pay. */
function isPart(span: number, { start, end }: Window): boolean {
  return span * 2 < end - start;
}
