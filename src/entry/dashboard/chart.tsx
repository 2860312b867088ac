import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { createPlot } from './chart-plot.js';
import { LANES, type Scaled, scale } from './chart-scale.js';
import { formatMs, formatNumber, formatShare } from './format.js';
import { type Mark, describeMark, isWithin } from './marks.js';
import { LEAST_FOR_PERCENTILES, type Point, namePeriod } from './points.js';
import type { Window } from './time.js';

const isDark = matchMedia('(prefers-color-scheme: dark)');

/**
 * Requests with their errors, response times and the error rate, over the same time axis. Drag, or click on
 * a period, to zoom. With the keyboard: arrows read the periods, with Shift they select, Enter zooms.
 */
export function Chart(props: {
  points: readonly Point[];
  window: Window;
  /** Oldest first. */
  marks: readonly Mark[];
  /** Whether a response time is known. */
  hasTimes: boolean;
  onZoom: (from: number, to: number) => void;
}) {
  const { points, window, marks, hasTimes, onZoom } = props;
  const scaled = useMemo(() => scale(points, marks), [points, marks]);
  const [cursor, setCursor] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [spoken, setSpoken] = useState('');

  const zoom = (first: number, last: number) => {
    const [from, to] = [points[first]?.start, points[last]?.end];
    if (from !== undefined && to !== undefined) onZoom(from, to);
  };
  const zoomTo = (from: number, to: number) =>
    zoom(
      points.findIndex(({ end }) => end > from),
      points.findLastIndex(({ start }) => start < to),
    );
  const hasRequests = points.some(({ requests }) => requests > 0);
  const { box, plot } = usePlot(window, scaled, setCursor, zoomTo);

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
    setSpoken(describe(point, window, marks));
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
        {Object.entries(LANES).map(([lane, { name, to }]) => (
          <span key={lane} class="lane" style={{ top: `max(-2px, (100% - 36px) * ${1 - to} - 6px)` }}>
            {name}
            {lane === 'times' && hasRequests && points.every(({ p95 }) => p95 === null) && (
              <>: {explainTimes(hasTimes)}</>
            )}
          </span>
        ))}
      </div>
      <p class="visually-hidden" aria-live="polite">
        {spoken}
      </p>
    </div>
  );
}

/** Why no response times are drawn. */
function explainTimes(hasTimes: boolean): string {
  return hasTimes
    ? `no period has ${LEAST_FOR_PERCENTILES} requests, the least for percentiles; a longer interval may`
    : 'the source of these requests sends none';
}

/** A plot in the box that follows the data, the size of the box and the colours of the system. */
function usePlot(
  window: Window,
  scaled: Scaled,
  onCursor: (index: number | null) => void,
  onZoom: (from: number, to: number) => void,
) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef({ scaled, onZoom });
  latest.current = { scaled, onZoom };
  useLayoutEffect(() => {
    const at = box.current;
    if (!at) return undefined;
    const create = () => {
      plot.current?.destroy();
      const zoom = (from: number, to: number) => latest.current.onZoom(from, to);
      plot.current = createPlot(at, window, onCursor, zoom, () => latest.current.scaled);
    };
    create();
    const resize = new ResizeObserver(() => {
      const [width, height] = [at.clientWidth, at.clientHeight];
      // The observer also calls it for the initial size.
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
    // uPlot keeps the marks of an axis whose scale has the same ends, and the value axis always has the same
    // ends.
    at.batch(() => {
      at.setData(scaled.data);
      at.redraw(false, true);
    });
  }, [scaled]);
  return { box, plot };
}

function describe(point: Point, window: Window, marks: readonly Mark[]): string {
  const errors = point.clientErrors + point.serverErrors;
  return [
    `${namePeriod(point, window)}: ${formatNumber(point.requests)} requests`,
    `${formatNumber(errors)} errors${point.errorRate === null ? '' : `, ${formatShare(point.errorRate)}`}`,
    ...(point.p50 === null ? [] : [`p50 ${formatMs(point.p50)}, p95 ${formatMs(point.p95)}`]),
    ...marks.filter((mark) => isWithin(mark, point)).map(describeMark),
    ...(point.before === null ? [] : [`${formatNumber(point.before.requests)} requests before`]),
  ].join('; ');
}

/** The legend, with the values under the cursor. */
function Readout({ point, window }: { point: Point | undefined; window: Window }) {
  const items: [string, string, string | undefined][] = [
    ['bar', 'Requests', point && formatNumber(point.requests)],
    ['four', '4xx', point && formatNumber(point.clientErrors)],
    ['five', '5xx', point && formatNumber(point.serverErrors)],
    ['before', 'Before', point && formatNumber(point.before?.requests)],
    ['p50', 'p50', point && formatMs(point.p50)],
    ['p95', 'p95', point && formatMs(point.p95)],
    ['rate', 'Error rate', point && formatShare(point.errorRate)],
  ];
  return (
    <dl class="readout" aria-hidden="true">
      <div class="period">
        <dt>{point ? namePeriod(point, window) : 'Click or drag to zoom'}</dt>
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
