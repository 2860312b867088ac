interface Span {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  /** Nanoseconds since the Unix epoch; decimal digits if it is a text. */
  readonly start_time_ns: bigint | string;
}

/** The spans below each span, by its ID. */
export function groupByParent<S extends Span>(spans: readonly S[]): Map<string | null, S[]> {
  const children = new Map<string | null, S[]>();
  for (const span of spans) {
    const siblings = children.get(span.parent_span_id);
    if (siblings) siblings.push(span);
    else children.set(span.parent_span_id, [span]);
  }
  return children;
}

/**
 * Spans in the order of their start; of those that start at one time, as spans of Node.js often do, parents
 * come first.
 */
export function sortSpans<S extends Span>(spans: readonly S[]): S[] {
  const children = groupByParent(spans);
  const ids = new Set<string | null>(spans.map(({ span_id }) => span_id));
  const found = new Set(spans.filter(({ parent_span_id }) => !ids.has(parent_span_id)));
  // A Set's iteration includes values added during it, each once.
  for (const { span_id } of found) for (const child of children.get(span_id) ?? []) found.add(child);
  // Those above each other in a circle.
  for (const span of spans) found.add(span);
  return [...found].sort((a, b) => Number(BigInt(a.start_time_ns) - BigInt(b.start_time_ns)));
}
