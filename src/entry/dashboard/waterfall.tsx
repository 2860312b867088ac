import { useMemo, useState } from 'preact/hooks';
import type { Span } from './api.js';
import { LongText, Pairs, ShowAll } from './captured-text.js';
import { formatMs, formatOffset } from './format.js';
import { Fact, Text } from './parts.js';

/** A button shows further spans. */
const MAX_SPANS = 200;
const MAX_INDENT = 8;

/** The spans of a request on its time axis. */
export function Waterfall({ spans }: { spans: readonly Span[] }) {
  const [isWhole, setIsWhole] = useState(false);
  const placed = useMemo(() => arrange(spans), [spans]);
  if (spans.length === 0) return <p class="muted">No spans were captured.</p>;
  const start = Math.min(...spans.map(({ start_time_ns }) => start_time_ns));
  const total = Math.max(1, ...spans.map(({ end_time_ns }) => end_time_ns - start));
  return (
    <>
      <ol class="spans">
        {placed.slice(0, isWhole ? Infinity : MAX_SPANS).map((item, index) => (
          <li key={index}>
            <SpanDetails {...item} start={start} total={total} />
          </li>
        ))}
      </ol>
      {!isWhole && placed.length > MAX_SPANS && (
        <ShowAll count={placed.length} press={() => setIsWhole(true)} />
      )}
    </>
  );
}

/**
 * A bar on the time axis, which begins at `start` and is `total` nanoseconds long, and the data of the span
 * below it.
 */
function SpanDetails({ span, depth, start, total }: Placed & { start: number; total: number }) {
  const left = ((span.start_time_ns - start) / total) * 100;
  const width = (Math.max(0, span.duration_ns) / total) * 100;
  const hasFailed = span.status === 'ERROR';
  return (
    <details>
      <summary>
        <span class="clip" style={{ paddingInlineStart: `${Math.min(depth, MAX_INDENT) * 12}px` }}>
          <Text max={120}>{span.name}</Text>
        </span>
        <svg class="waterfall" preserveAspectRatio="none" aria-hidden="true">
          <rect
            class={hasFailed ? 'failed' : span.kind.toLowerCase()}
            x={`${Math.min(left, 99.5)}%`}
            y="4"
            width={`${Math.max(0.5, Math.min(width, 100 - left))}%`}
            height="8"
            rx="1.5"
          />
        </svg>
        <span class="number">
          {hasFailed && <span class="failed-word">error </span>}
          {formatMs(span.duration_ns / 1e6)}
        </span>
      </summary>
      <dl class="facts">
        <Fact name="Kind">{span.kind}</Fact>
        <Fact name="Status">{span.status}</Fact>
        <Fact name="Begins">{formatOffset((span.start_time_ns - start) / 1e6)}</Fact>
        <Fact name="ID">
          <code>
            <Text>{span.span_id}</Text>
          </code>
        </Fact>
      </dl>
      <Pairs
        pairs={Object.entries(span.attributes).map(([name, value]) => [
          name,
          <LongText text={typeof value === 'string' ? value : JSON.stringify(value)} />,
        ])}
      />
    </details>
  );
}

interface Placed {
  span: Span;
  depth: number;
}

/** The spans below their parents, each once: parents can be missing, or form a cycle. */
function arrange(spans: readonly Span[]): Placed[] {
  const sorted = spans.toSorted((a, b) => a.start_time_ns - b.start_time_ns);
  const ids = new Set(sorted.map(({ span_id }) => span_id));
  const children = Map.groupBy(sorted, ({ parent_span_id }) => parent_span_id);
  const placed = new Set<Span>();
  const result: Placed[] = [];
  const placeAll = (roots: readonly Span[]) => {
    const stack = roots.toReversed().map((span) => ({ span, depth: 0 }));
    for (let next = stack.pop(); next; next = stack.pop()) {
      if (placed.has(next.span)) continue;
      placed.add(next.span);
      result.push(next);
      const depth = next.depth + 1;
      for (const span of (children.get(next.span.span_id) ?? []).toReversed()) stack.push({ span, depth });
    }
  };
  placeAll(sorted.filter(({ parent_span_id }) => parent_span_id === null || !ids.has(parent_span_id)));
  placeAll(sorted);
  return result;
}
