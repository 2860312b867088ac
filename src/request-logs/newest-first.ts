import type { Window } from '../common/time/window.js';

/** Asks for the newest records of a window, so many at most. */
export type Ask<R> = (window: Window, limit: number) => Promise<R[]>;

/**
 * How much of a window is looked at first, in records of the app. The engine finds its way into so many in 5 ms where
 * 15 days over all partitions take 9, and reads a rarely fulfilled filter through them in 3.
 */
const NEAR_RECORDS = 50_000;
/** How much further than the found records promise: they come in clusters. */
const RESERVE = 1.5;

/**
 * The newest records of a window, newest first: those of its end, and older ones only where they do not suffice. First
 * a near window, then one as large as what it held promises, then all that is left; each looks only at what is older
 * than the one before, so whatever the steps are, the records are those of one look at the whole window.
 *
 * @param density records of the app per millisecond, whatever the filter; a bad guess costs time, nothing else
 */
export async function newestFirst<R>(
  window: Window,
  limit: number,
  density: number,
  ask: Ask<R>,
): Promise<R[]> {
  const records: R[] = [];
  let { end } = window;
  const look = async (span: number) => {
    const start = Math.max(window.start, end - span);
    const found = await ask({ start, end }, limit - records.length);
    end = start;
    for (const record of found) records.push(record);
    return found.length;
  };
  const near = Math.ceil(NEAR_RECORDS / density);
  if (!isPart(near, window)) return ask(window, limit);
  const found = await look(near);
  if (records.length < limit && found > 0) {
    const promising = Math.ceil(((limit - found) / found) * near * RESERVE);
    if (isPart(promising, { start: window.start, end })) await look(promising);
  }
  if (records.length < limit) await look(end - window.start);
  return records;
}

/** Whether a span is so much shorter than a window that looking at it alone may pay. */
function isPart(span: number, { start, end }: Window): boolean {
  return span * 2 < end - start;
}
