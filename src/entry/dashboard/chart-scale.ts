import type uPlot from 'uplot';
import { formatCompact } from './format.js';
import type { Mark } from './marks.js';
import { type Point, isRunning } from './points.js';

/**
 * Parts of the height, as shares from the bottom: all measures share one time axis, and each has its own
 * lane.
 */
export const LANES = {
  requests: { name: 'Requests', from: 0.54, to: 1 },
  times: { name: 'Response time', from: 0.23, to: 0.46 },
  errors: { name: 'Error rate', from: 0, to: 0.15 },
} as const;
type Lane = keyof typeof LANES;

export interface Scaled {
  /** The marks of the value axis: their position from 0 to 1, and their text. */
  ticks: { at: number; text: string }[];
  data: uPlot.AlignedData;
  /** Start of the last period if it is still running. */
  runningFrom: number | undefined;
  marks: readonly Mark[];
}

/** The positions of the points' values in the lanes, from 0 to 1, and the marks next to them. */
export function scale(points: readonly Point[], marks: readonly Mark[]): Scaled {
  const highest = (...values: (number | null)[]) => Math.max(0, ...values.map((value) => value ?? 0));
  const ceiling = niceCeiling(
    highest(4, ...points.flatMap(({ requests, before }) => [requests, before?.requests ?? 0])),
  );
  // Even, so that the mark in the middle is a whole number of requests.
  const axisMax = 2 * Math.ceil(ceiling / 2);
  const worst = Math.min(1, niceCeiling(highest(0.01, ...points.map(({ errorRate }) => errorRate))));
  // A logarithmic scale, because p95 is often a hundred times p50.
  const times = points.flatMap(({ p50, p95 }) => [p50 ?? 10, p95 ?? 10]);
  const lowest = Math.floor(Math.log10(Math.max(1, Math.min(10, ...times))));
  const decades = Math.max(1, Math.ceil(Math.log10(highest(100, ...times))) - lowest);
  const shares: Record<Lane, (value: number) => number> = {
    requests: (value) => value / axisMax,
    times: (ms) => Math.max(0, Math.log10(Math.max(1, ms)) - lowest) / decades,
    errors: (rate) => rate / worst,
  };
  const at = (lane: Lane, value: number) => {
    const { from, to } = LANES[lane];
    return from + (to - from) * shares[lane](value);
  };
  const place = (lane: Lane, read: (point: Point) => number | null) =>
    points.map((point) => {
      const value = read(point);
      return value === null ? null : at(lane, value);
    });
  const requestTicks = [0, axisMax / 2, axisMax].map((value) => ({
    at: at('requests', value),
    text: formatCompact(value),
  }));
  const timeTicks = Array.from({ length: decades + 1 }, (_, index) => 10 ** (lowest + index)).map((ms) => ({
    at: at('times', ms),
    text: ms < 1000 ? `${ms} ms` : `${ms / 1000} s`,
  }));
  const errorTicks = [0, worst].map((rate) => ({
    at: at('errors', rate),
    text: `${Number((rate * 100).toPrecision(2))} %`,
  }));
  const last = points.at(-1);
  return {
    runningFrom: last && isRunning(last) ? last.start : undefined,
    marks,
    ticks: [...errorTicks, ...timeTicks, ...requestTicks],
    data: [
      points.map(({ start, end }) => (start + end) / 2000),
      place('requests', ({ requests }) => requests),
      place('requests', ({ clientErrors, serverErrors }) => clientErrors + serverErrors || null),
      place('requests', ({ serverErrors }) => serverErrors || null),
      place('requests', ({ before }) => before?.requests ?? null),
      place('times', ({ p95 }) => p95),
      place('times', ({ p50 }) => p50),
      place('errors', ({ errorRate }) => errorRate),
    ],
  };
}

function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}
