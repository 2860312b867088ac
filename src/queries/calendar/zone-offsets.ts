import { createCache } from '../../shared/create-cache.js';
import { Temporal } from 'temporal-polyfill';

/** A span of time with one offset of a zone. */
export interface OffsetSpan {
  /** First second of the span; seconds since the Unix epoch. */
  readonly start: number;
  /** First second after the span. */
  readonly end: number;
  /** Local time minus UTC, in seconds; positive east of Greenwich. */
  readonly offset: number;
}

// Spans are cached by block of time, not by window, so that all windows of a zone share them.
const BLOCK_SECONDS = 366 * 86_400;
const blocks = createCache<string, readonly OffsetSpan[]>(2_000);

/**
 * The offsets of an IANA zone from `from` to `to` (seconds since the Unix epoch), oldest first and without
 * gaps. Neighbouring spans may have the same offset.
 *
 * @throws RangeError when the zone is unknown.
 */
export function offsetSpans(from: number, to: number, zone: string): OffsetSpan[] {
  const spans: OffsetSpan[] = [];
  for (let block = Math.floor(from / BLOCK_SECONDS); block * BLOCK_SECONDS < to; block++) {
    for (const { start, end, offset } of spansOfBlock(block, zone)) {
      if (end > from && start < to)
        spans.push({ start: Math.max(start, from), end: Math.min(end, to), offset });
    }
  }
  return spans;
}

function spansOfBlock(block: number, zone: string): readonly OffsetSpan[] {
  const key = `${zone} ${block}`;
  const cached = blocks.get(key);
  if (cached) return cached;
  const spans = readSpans(block * BLOCK_SECONDS, (block + 1) * BLOCK_SECONDS, zone);
  blocks.set(key, spans);
  return spans;
}

function readSpans(from: number, to: number, zone: string): OffsetSpan[] {
  const spans: OffsetSpan[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(from * 1000).toZonedDateTimeISO(zone);
  for (;;) {
    const next = at.getTimeZoneTransition('next');
    const end = next ? Math.min(to, next.epochMilliseconds / 1000) : to;
    spans.push({ start: at.epochMilliseconds / 1000, end, offset: at.offsetNanoseconds / 1e9 });
    if (!next || end === to) return spans;
    at = next;
  }
}
