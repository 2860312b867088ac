import fc from 'fast-check';
import { resolveWindow, startsBeforeEnd } from './window.js';

const NOW = 1_000_000;
const SPAN = 1_000;
const RETAINED = 900_000;
const defaults = { now: NOW, defaultSpanMs: SPAN };

describe('resolveWindow', () => {
  it.each([
    ['defaults: the span up to now', {}, { start: 999_000, end: NOW }],
    ['a start alone: up to now', { start: 950_000 }, { start: 950_000, end: NOW }],
    ['an end alone: the start counts back from now', { end: 999_500 }, { start: 999_000, end: 999_500 }],
    ['both', { start: 950_000, end: 960_000 }, { start: 950_000, end: 960_000 }],
    ['an end to come', { start: 950_000, end: 2_000_000 }, { start: 950_000, end: 2_000_000 }],
    ['past the retention: cut', { start: 100, end: 960_000 }, { start: RETAINED, end: 960_000 }],
    ['from the first retained millisecond: whole', { start: RETAINED }, { start: RETAINED, end: NOW }],
    ['zero is an instant, not an absence', { start: 0, end: NOW }, { start: RETAINED, end: NOW }],
  ])('%s', (_, given, expected) => {
    expect(resolveWindow({ ...given, ...defaults, retainedFrom: RETAINED })).toEqual(expected);
  });

  it('is empty, without error, when it lies wholly before the retention', () => {
    const { start, end } = resolveWindow({ start: 0, end: 100, ...defaults, retainedFrom: RETAINED });
    expect(start).toBeGreaterThanOrEqual(end);
  });

  it('holds exactly the retained instants of the window asked for', () => {
    const instant = fc.integer({ min: 0, max: 2_000 });
    fc.assert(
      fc.property(instant, instant, instant, instant, (from, to, retainedFrom, at) => {
        const { start, end } = resolveWindow({ start: from, end: to, ...defaults, retainedFrom });
        expect(at >= start && at < end).toBe(at >= from && at < to && at >= retainedFrom);
      }),
    );
  });
});

describe('startsBeforeEnd', () => {
  it.each([
    ['defaults', {}, true],
    ['start before end', { start: 5, end: 6 }, true],
    ['start at end: holds no instant', { start: 5, end: 5 }, false],
    ['start after end', { start: 6, end: 5 }, false],
    ['start at now, end left out', { start: NOW }, false],
    ['end before the default start', { end: NOW - SPAN }, false],
    ['wholly before the retention', { start: 0, end: 1 }, true],
  ])('%s', (_, given, expected) => {
    expect(startsBeforeEnd({ ...given, ...defaults })).toBe(expected);
  });
});
