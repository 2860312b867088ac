import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { LANES, type Scaled } from './chart-scale.js';
import type { Mark } from './marks.js';
import { type Window, formatTime, getYear, timeZone } from './time.js';

/** Room above the highest lane and below the lowest one, for the lines' width. */
const MARGIN = 0.01;
/** Characters of a name beside its line. */
const MAX_LABEL = 16;
/** Pixels from which a press of the mouse is a drag. */
const DRAG = 6;

/** The plot of the chart's data. The plot is kept while the data change; `getScaled` returns the latest. */
export function createPlot(
  box: HTMLElement,
  window: Window,
  onCursor: (index: number | null) => void,
  onZoom: (from: number, to: number) => void,
  getScaled: () => Scaled,
): uPlot {
  // A canvas needs the colour itself, but a custom property contains the text `light-dark(…)`.
  const probe = box.appendChild(document.createElement('i'));
  const color = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const veil = color('veil');
  const colors = { release: color('text'), alert: color('status-5') };
  const fill = color('error-fill');
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: color('muted'), font, gap: 6, ticks: { show: false } };
  const options: uPlot.Options = {
    width: box.clientWidth,
    height: box.clientHeight,
    legend: { show: false },
    padding: [10, 34, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), timeZone(window.zone)),
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: DRAG },
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
        // Of the longest mark, which has the year.
        space: 92,
        grid: { show: false },
        values: (_, splits, __, ___, step) => nameTimes(splits, step, window),
      },
      {
        ...axis,
        size: 52,
        grid: { stroke: color('grid'), width: 1 },
        splits: () => getScaled().ticks.map(({ at }) => at),
        values: () => getScaled().ticks.map(({ text }) => text),
      },
    ],
    series: createSeries(color),
    hooks: {
      drawClear: [(plot) => fillAlerts(plot, getScaled().marks, fill)],
      draw: [
        (plot) => {
          const { ctx, bbox } = plot;
          const { runningFrom } = getScaled();
          if (runningFrom === undefined) return;
          const left = plot.valToPos(runningFrom / 1000, 'x', true);
          ctx.fillStyle = veil;
          ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
        },
        (plot) => drawMarks(plot, getScaled().marks, colors, font),
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
  };
  const plot = new uPlot(options, getScaled().data, box);
  let pressedAt = 0;
  plot.over.addEventListener('mousedown', ({ clientX }) => (pressedAt = clientX));
  plot.over.addEventListener('click', ({ clientX }) => {
    const index = plot.cursor.idx;
    const at = index === null || index === undefined ? undefined : plot.data[0][index];
    // A minute has nothing to zoom into, and a drag is no click.
    if (at !== undefined && window.interval !== 'minute' && Math.abs(clientX - pressedAt) < DRAG)
      onZoom(at * 1000, at * 1000);
  });
  probe.remove();
  return plot;
}

/** The times of alerts, behind the series. */
function fillAlerts(plot: uPlot, marks: readonly Mark[], color: string) {
  const { ctx, bbox } = plot;
  const place = (time: number) =>
    Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(time / 1000, 'x', true)));
  ctx.fillStyle = color;
  for (const { kind, from, to } of marks)
    if (kind === 'alert') ctx.fillRect(place(from), bbox.top, place(to) - place(from), bbox.height);
}

/**
 * A line at the begin of each mark, with its name where there is room: those of alerts are below those of
 * releases.
 */
function drawMarks(
  plot: uPlot,
  marks: readonly Mark[],
  colors: Readonly<Record<Mark['kind'], string>>,
  font: string,
) {
  const { ctx, bbox } = plot;
  const { pxRatio } = uPlot;
  ctx.save();
  ctx.lineWidth = pxRatio;
  ctx.setLineDash([2 * pxRatio, 3 * pxRatio]);
  ctx.font = font.replace('11px', `${11 * pxRatio}px`);
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  const free = { release: bbox.left, alert: bbox.left };
  for (const { kind, name, from, to } of marks) {
    const start = Math.round(plot.valToPos(from / 1000, 'x', true));
    // The name of an alert that began before the chart is at its edge.
    const x = to > from ? Math.max(bbox.left, start) : start;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = colors[kind];
    if (x === start) {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    const text = name.length > MAX_LABEL ? `${name.slice(0, MAX_LABEL - 1)}…` : name;
    const end = x + ctx.measureText(text).width + 8 * pxRatio;
    if (x < free[kind] || end > bbox.left + bbox.width) continue;
    ctx.fillText(text, x + 4 * pxRatio, bbox.top + (kind === 'alert' ? 13 * pxRatio : 0));
    free[kind] = end;
  }
  ctx.restore();
}

/** The series in the order of `Scaled.data`. */
function createSeries(color: (name: string) => string): uPlot.Series[] {
  const bars = uPlot.paths.bars?.({ size: [0.84, 64] });
  const bar = (fill: string): uPlot.Series => ({
    fill,
    width: 0,
    points: { show: false },
    fillTo: LANES.requests.from,
    ...(bars && { paths: bars }),
  });
  const line = (stroke: string, width: number, more: uPlot.Series = {}): uPlot.Series => ({
    stroke,
    width,
    // A period without neighbours is drawn as a point, because it makes no line.
    points: { show: true, size: 4, fill: stroke, filter: listIsolated },
    ...more,
  });
  return [
    {},
    bar(color('bar')),
    bar(color('status-4')),
    bar(color('status-5')),
    line(color('before'), 1.25, { dash: [4, 3] }),
    line(color('accent'), 1.75, { fill: color('accent-fill'), fillTo: LANES.times.from }),
    line(color('muted'), 1.25),
    line(color('status-5'), 1.5, { fill: color('error-fill'), fillTo: LANES.errors.from }),
  ];
}

/** The marks of the time axis: times, and days at midnight with their weekday, or the year if it changed. */
function nameTimes(splits: readonly number[], step: number, { from, zone }: Window): string[] {
  let year = getYear(from, zone);
  return splits.map((seconds) => {
    const at = seconds * 1000;
    const time = formatTime(at, 'time', zone);
    if (step < 86_400 && time !== '00:00') return time;
    const isSameYear = getYear(at, zone) === year;
    year = getYear(at, zone);
    return formatTime(at, isSameYear ? 'weekday' : 'date', zone).replace(',', '');
  });
}

/** The indices of values between two unknown values. */
function listIsolated({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? [];
  const isKnown = (index: number) => typeof values[index] === 'number';
  return Array.from(values.keys()).filter(
    (index) => isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1),
  );
}
