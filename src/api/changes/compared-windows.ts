import { minutesRetainedFrom } from '../../config/retention.js';
import type { Window } from '../../shared/time/window.js';
import { MINUTE_MS } from '../../shared/time/units.js';

export const QUARTER_MS = 15 * MINUTE_MS;

/**
 * The precision to which Query Metrics rounds windows without an interval, in milliseconds: a minute while
 * minutes are retained, otherwise a quarter-hour. The same for all windows of a call, so that they keep their
 * lengths and do not overlap.
 *
 * @param from the earliest start
 */
export function chooseStep(from: number, now: number): number {
  return from >= minutesRetainedFrom(now) ? MINUTE_MS : QUARTER_MS;
}

export function roundWindow({ start, end }: Window, step: number): Window {
  return { start: Math.floor(start / step) * step, end: Math.ceil(end / step) * step };
}

/** The window of the same length before another. */
export function findWindowBefore({ start, end }: Window): Window {
  return { start: 2 * start - end, end: start };
}

/**
 * A window and its baseline, rounded alike.
 *
 * @param readBaseline the baseline of a window: asked once for its start, and again for the rounded window
 */
export function roundWindows(
  asked: Window,
  now: number,
  readBaseline: (window: Window) => Window,
): { window: Window; baseline: Window } {
  const step = chooseStep(readBaseline(asked).start, now);
  const window = roundWindow(asked, step);
  return { window, baseline: roundWindow(readBaseline(window), step) };
}
