import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { MetricsRow } from './api.js';
import { formatCompact, formatMs, formatNumber, formatShare } from './format.js';
import { type Window, formatPeriod, formatTime, listStarts, timeZone, yearOf } from './time.js';

/** One period of the chart; `null` where nothing is known. */
export interface Point {
  start: number;
  end: number;
  requests: number;
  /** Requests of the same period before; null where nothing is known of the periods before. */
  before: number | null;
  clientErrors: number;
  serverErrors: number;
  errorRate: number | null;
  p50: number | null;
  p95: number | null;
}

/** The periods of the window with their rows; the API leaves out periods without requests. */
export function toPoints(rows: readonly MetricsRow[], window: Window): Point[] {
  const { from, to, previousFrom, interval, zone } = window;
  const byStart = new Map(rows.map((row) => [Date.parse(row.period_start), row]));
  const starts = listStarts(from, to, interval, zone);
  const before = previousFrom === null ? [] : listStarts(previousFrom, from, interval, zone);
  const hasBefore = before.some((start) => byStart.has(start));
  return starts.map((start, index) => {
    const row = byStart.get(start);
    const earlier = before[index];
    return {
      start,
      end: starts[index + 1] ?? to,
      requests: row?.requests ?? 0,
      before: hasBefore && earlier !== undefined ? (byStart.get(earlier)?.requests ?? 0) : null,
      clientErrors: row?.client_errors ?? 0,
      serverErrors: row?.server_errors ?? 0,
      errorRate: row?.error_rate ?? null,
      p50: row?.response_time_p50 ?? null,
      p95: row?.response_time_p95 ?? null,
    };
  });
}

/** Parts of the height, from the bottom: all measures share one time axis, each has a lane of its own. */
const LANES = {
  errors: { from: 0, to: 0.15 },
  times: { from: 0.23, to: 0.46 },
  requests: { from: 0.54, to: 1 },
} as const;
type Lane = keyof typeof LANES;
/** Room above the highest lane and below the lowest one, for the lines' width. */
const MARGIN = 0.01;

function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

function isRunning({ end }: Point): boolean {
  return end > Date.now();
}

/** A period that runs is named so, because it is smaller than it will be. */
function namePeriod(point: Point, window: Window): string {
  return `${formatPeriod(point.start, window)}${isRunning(point) ? ', so far' : ''}`;
}

interface Scaled {
  /** The marks of the value axis: their place from 0 to 1, and their text. */
  ticks: { at: number; text: string }[];
  data: uPlot.AlignedData;
  /** Start of the last period while it runs. */
  runningFrom: number | undefined;
}

function scale(points: readonly Point[]): Scaled {
  const highest = (...values: (number | null)[]) => Math.max(0, ...values.map((value) => value ?? 0));
  const ceiling = niceCeiling(highest(4, ...points.flatMap(({ requests, before }) => [requests, before])));
  // Even, so that the mark in the middle is no half of a request.
  const most = 2 * Math.ceil(ceiling / 2);
  const worst = Math.min(1, niceCeiling(highest(0.01, ...points.map(({ errorRate }) => errorRate))));
  // In powers of ten, because p95 is often a hundred times p50.
  const times = points.flatMap(({ p50, p95 }) => [p50 ?? 10, p95 ?? 10]);
  const lowest = Math.floor(Math.log10(Math.max(1, Math.min(10, ...times))));
  const decades = Math.max(1, Math.ceil(Math.log10(highest(100, ...times))) - lowest);
  const shares: Record<Lane, (value: number) => number> = {
    requests: (value) => value / most,
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
  const requestTicks = [0, most / 2, most].map((value) => ({
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
    ticks: [...errorTicks, ...timeTicks, ...requestTicks],
    data: [
      points.map(({ start, end }) => (start + end) / 2000),
      place('requests', ({ requests }) => requests),
      place('requests', ({ clientErrors, serverErrors }) => clientErrors + serverErrors || null),
      place('requests', ({ serverErrors }) => serverErrors || null),
      place('requests', ({ before }) => before),
      place('times', ({ p95 }) => p95),
      place('times', ({ p50 }) => p50),
      place('errors', ({ errorRate }) => errorRate),
    ],
  };
}

/** The indices of values between two that are not known. */
function listIsolated({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? [];
  const isKnown = (index: number) => typeof values[index] === 'number';
  return Array.from(values.keys()).filter(
    (index) => isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1),
  );
}

function createPlot(
  box: HTMLElement,
  window: Window,
  onCursor: (index: number | null) => void,
  onZoom: (from: number, to: number) => void,
  getScaled: () => Scaled,
): uPlot {
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  // A canvas needs the colour itself; a custom property has the text `light-dark(…)`.
  const probe = box.appendChild(document.createElement('i'));
  const color = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const bars = uPlot.paths.bars?.({ size: [0.84, 64] });
  const bar = (fill: string, lane: Lane): uPlot.Series => ({
    fill,
    width: 0,
    points: { show: false },
    fillTo: LANES[lane].from,
    ...(bars && { paths: bars }),
  });
  const line = (stroke: string, width: number, more: uPlot.Series = {}): uPlot.Series => ({
    stroke,
    width,
    // A period without neighbours is no line.
    points: { show: true, size: 4, fill: stroke, filter: listIsolated },
    ...more,
  });
  const veil = color('veil');
  const axis = { stroke: color('muted'), font, ticks: { show: false } };
  const plot = new uPlot(
    {
      width: box.clientWidth,
      height: box.clientHeight,
      legend: { show: false },
      padding: [10, 20, 0, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), timeZone(window.zone)),
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 6 },
        bind: { dblclick: () => null },
      },
      scales: {
        x: { time: true, range: () => [window.from / 1000, window.to / 1000] },
        y: { range: () => [-MARGIN, 1 + MARGIN] },
      },
      axes: [
        {
          ...axis,
          size: 26,
          gap: 6,
          grid: { show: false },
          values: (_, splits, __, ___, step) => {
            let year = yearOf(window.from, window.zone);
            return splits.map((seconds) => {
              const at = seconds * 1000;
              const time = formatTime(at, 'time', window.zone);
              if (step < 86_400 && time !== '00:00') return time;
              const isSameYear = yearOf(at, window.zone) === year;
              year = yearOf(at, window.zone);
              return formatTime(at, isSameYear ? 'day' : 'date', window.zone);
            });
          },
        },
        {
          ...axis,
          size: 52,
          gap: 6,
          grid: { stroke: color('grid'), width: 1 },
          splits: () => getScaled().ticks.map(({ at }) => at),
          values: () => getScaled().ticks.map(({ text }) => text),
        },
      ],
      series: [
        {},
        bar(color('bar'), 'requests'),
        bar(color('status-4'), 'requests'),
        bar(color('status-5'), 'requests'),
        line(color('before'), 1.25, { dash: [4, 3] }),
        line(color('accent'), 1.75, { fill: color('accent-fill'), fillTo: LANES.times.from }),
        line(color('muted'), 1.25),
        line(color('status-5'), 1.5, { fill: color('error-fill'), fillTo: LANES.errors.from }),
      ],
      hooks: {
        draw: [
          (plot) => {
            const { ctx, bbox } = plot;
            const { runningFrom } = getScaled();
            if (runningFrom === undefined) return;
            const left = plot.valToPos(runningFrom / 1000, 'x', true);
            ctx.fillStyle = veil;
            ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
          },
        ],
        setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width <= 0) return;
            onZoom(plot.posToVal(left, 'x') * 1000, plot.posToVal(left + width, 'x') * 1000);
            plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          },
        ],
      },
    },
    getScaled().data,
    box,
  );
  probe.remove();
  return plot;
}

const isDark = matchMedia('(prefers-color-scheme: dark)');

/**
 * Requests with their errors, response times and the error rate, over the same time axis. Drag to zoom. With the keyboard:
 * arrows read the periods, with Shift they select, Enter zooms.
 */
export function Chart(props: {
  points: readonly Point[];
  window: Window;
  onZoom: (from: number, to: number) => void;
}) {
  const { points, window } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const scaled = useMemo(() => scale(points), [points]);
  const latest = useRef({ ...props, ...scaled });
  latest.current = { ...props, ...scaled };
  const [cursor, setCursor] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [spoken, setSpoken] = useState('');

  const zoom = (first: number, last: number) => {
    const { points: all, onZoom } = latest.current;
    const [from, to] = [all[first]?.start, all[last]?.end];
    if (from !== undefined && to !== undefined) onZoom(from, to);
  };

  useLayoutEffect(() => {
    const at = box.current;
    if (!at) return undefined;
    const create = () => {
      plot.current?.destroy();
      const zoomTo = (from: number, to: number) => {
        const { points: all } = latest.current;
        zoom(
          all.findIndex(({ end }) => end > from),
          all.findLastIndex(({ start }) => start < to),
        );
      };
      plot.current = createPlot(at, window, setCursor, zoomTo, () => latest.current);
    };
    create();
    const resize = new ResizeObserver(() => {
      const [width, height] = [at.clientWidth, at.clientHeight];
      // It is also called for the first size.
      if (width !== plot.current?.width || height !== plot.current.height)
        plot.current?.setSize({ width, height });
    });
    resize.observe(at);
    isDark.addEventListener('change', create);
    return () => {
      resize.disconnect();
      isDark.removeEventListener('change', create);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [window]);

  useEffect(() => {
    const at = plot.current;
    if (!at || at.data === scaled.data) return;
    // uPlot keeps the marks of an axis whose scale has the same ends, as the value axis always has.
    at.batch(() => {
      at.setData(scaled.data);
      at.redraw(false, true);
    });
  }, [scaled]);

  const move = (index: number, isSelecting: boolean) => {
    const point = points[index];
    if (!plot.current || !point) return;
    const start = isSelecting ? (anchor ?? cursor ?? index) : null;
    setAnchor(start);
    const left = (at: number) => plot.current?.valToPos(at / 1000, 'x') ?? 0;
    plot.current.setCursor({ left: left((point.start + point.end) / 2), top: 0 });
    const [first, last] = [points[Math.min(start ?? index, index)], points[Math.max(start ?? index, index)]];
    const from = left(first?.start ?? 0);
    const size = start === null ? 0 : left(last?.end ?? 0) - from;
    plot.current.setSelect({ left: from, width: size, top: 0, height: start === null ? 0 : 9999 }, false);
    setCursor(index);
    setSpoken(describe(point, window));
  };
  const press = (event: KeyboardEvent) => {
    const at = cursor ?? (event.key === 'ArrowLeft' ? points.length : -1);
    const targets: Record<string, number> = {
      ArrowLeft: Math.max(0, at - 1),
      ArrowRight: Math.min(points.length - 1, at + 1),
      Home: 0,
      End: points.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) move(target, event.shiftKey);
    else if (event.key === 'Enter' && anchor !== null && cursor !== null)
      zoom(Math.min(anchor, cursor), Math.max(anchor, cursor));
    else return;
    event.preventDefault();
  };

  return (
    <div class="chart">
      <Readout point={cursor === null ? undefined : points[cursor]} window={window} />
      <div
        class="plot"
        ref={box}
        role="application"
        tabIndex={0}
        aria-roledescription="chart"
        aria-label="Requests, response times and error rate over time. Left and right arrows read the periods; with Shift they select, and Enter zooms. The button Table shows the same as a table."
        onKeyDown={press}
      >
        <span class="lane" data-lane="requests">
          Requests
        </span>
        <span class="lane" data-lane="times">
          Response time
        </span>
        <span class="lane" data-lane="errors">
          Error rate
        </span>
      </div>
      <p class="visually-hidden" aria-live="polite">
        {spoken}
      </p>
    </div>
  );
}

function describe(point: Point, window: Window): string {
  const errors = point.clientErrors + point.serverErrors;
  return [
    `${namePeriod(point, window)}: ${formatNumber(point.requests)} requests`,
    `${formatNumber(errors)} errors${point.errorRate === null ? '' : `, ${formatShare(point.errorRate)}`}`,
    ...(point.p50 === null ? [] : [`p50 ${formatMs(point.p50)}, p95 ${formatMs(point.p95)}`]),
    ...(point.before === null ? [] : [`${formatNumber(point.before)} requests in the period before`]),
  ].join('; ');
}

/** The legend, with the values under the cursor. */
function Readout({ point, window }: { point: Point | undefined; window: Window }) {
  const items: [string, string, string | undefined][] = [
    ['bar', 'Requests', point && formatNumber(point.requests)],
    ['four', '4xx', point && formatNumber(point.clientErrors)],
    ['five', '5xx', point && formatNumber(point.serverErrors)],
    ['before', 'Period before', point && formatNumber(point.before)],
    ['p50', 'p50', point && formatMs(point.p50)],
    ['p95', 'p95', point && formatMs(point.p95)],
    ['rate', 'Error rate', point && formatShare(point.errorRate)],
  ];
  return (
    <dl class="readout" aria-hidden="true">
      <div class="period">
        <dt>{point ? namePeriod(point, window) : 'Drag to zoom'}</dt>
      </div>
      {items.map(([kind, name, value]) => (
        <div key={kind}>
          <dt>
            <i class={`swatch ${kind}`} />
            {name}
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function PointsTable({ points, window }: { points: readonly Point[]; window: Window }) {
  return (
    <div class="scroll points" tabIndex={0} role="region" aria-label="Traffic by period">
      <table>
        <thead>
          <tr>
            <th scope="col">Period</th>
            {['Requests', 'Period before', '4xx', '5xx', 'Error rate', 'p50', 'p95'].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map((point) => (
            <tr key={point.start}>
              <th scope="row">{namePeriod(point, window)}</th>
              <td class="number">{formatNumber(point.requests)}</td>
              <td class="number">{formatNumber(point.before)}</td>
              <td class="number">{formatNumber(point.clientErrors)}</td>
              <td class="number">{formatNumber(point.serverErrors)}</td>
              <td class="number">{formatShare(point.errorRate)}</td>
              <td class="number">{formatMs(point.p50)}</td>
              <td class="number">{formatMs(point.p95)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
