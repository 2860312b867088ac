import type { Capture, CapturedSpan } from '../../../records/capture.js';
import { MASK } from '../../../records/redaction/mask.js';
import type { DemoRequest } from '../demo-request.js';
import { requestsBetween } from '../generator.js';
import { DAY_MS } from '../../../shared/time/units.js';
import { createCapture, withCapture } from './capture.js';

const ORIGIN = Date.UTC(2025, 3, 1);
const END = Date.UTC(2026, 4, 1);

interface Captured {
  request: DemoRequest;
  text: string;
  /** The text as JSON.parse reads it: all but the nanoseconds, which are too large for it. */
  captured_json: Capture;
}

const all = [...requestsBetween(END - 15 * DAY_MS, END, ORIGIN)]
  .map((request) => ({ request, text: createCapture(request) }))
  .filter(({ text }) => text !== '')
  .map((captured): Captured => ({ ...captured, captured_json: JSON.parse(captured.text) }));
const whole = all.filter(({ captured_json: capture }) => capture.spans.length > 0);

/** The spans with their nanoseconds digit by digit. */
function parseSpans({ text }: Captured): CapturedSpan[] {
  const marked = text.replace(/("\w+_ns":)(\d+)/g, '$1"ns:$2"');
  const revive = (_: string, value: unknown) =>
    typeof value === 'string' && value.startsWith('ns:') ? BigInt(value.slice(3)) : value;
  return (JSON.parse(marked, revive) as Capture).spans as CapturedSpan[];
}

describe('what was captured', () => {
  it('is the same each time for the same request', () => {
    for (const { request, text } of all.slice(0, 500)) expect(withCapture(request).captured_json).toBe(text);
  });

  it('is nothing for what is excluded from the logs, and response headers at least for all else', () => {
    expect(all.every(({ request }) => !request.excluded_from_logs)).toBe(true);
    expect(all.every(({ captured_json: capture }) => capture.response_headers.length > 0)).toBe(true);
  });

  it('is everything for several hundred requests', () => {
    expect(whole.length).toBeGreaterThan(400);
    expect(whole.length).toBeLessThan(1_500);
    for (const { captured_json: capture } of whole) {
      expect(capture.request_headers.length).toBeGreaterThan(0);
      expect(capture.logs.length).toBeGreaterThan(0);
      expect(capture.trace_id).toMatch(/^[0-9a-f]{32}$/);
    }
    expect(whole.some(({ captured_json: capture }) => capture.request_body_json !== null)).toBe(true);
    expect(whole.some(({ captured_json: capture }) => capture.response_body_json !== null)).toBe(true);
  });

  it('has headers as pairs, the same name twice among them', () => {
    const pairs = all
      .slice(0, 500)
      .flatMap(({ captured_json: capture }) => [...capture.request_headers, ...capture.response_headers]);
    expect(pairs.filter((pair) => pair.map((text) => typeof text).join() !== 'string,string')).toEqual([]);
    const names = all[0]!.captured_json.response_headers.map(([name]) => name);
    expect(new Set(names).size).toBeLessThan(names.length);
  });

  it('has bodies that are JSON, with secrets masked', () => {
    const bodies = whole
      .flatMap(({ captured_json: capture }) => [capture.request_body_json, capture.response_body_json])
      .filter((body) => body !== null);
    for (const body of bodies) expect(() => JSON.parse(body)).not.toThrow();
    const secrets = bodies
      .join('\n')
      .matchAll(/"(?:card_number|cvc|email|access_token|client_secret)":"([^"]*)"/g);
    expect(new Set([...secrets].map(([, value]) => value))).toEqual(new Set([MASK]));
  });

  it('has an exception behind a 500 and behind nothing else', () => {
    const failed = all.filter(({ request }) => request.status_code === 500 && request.entity !== null);
    expect(all.filter(({ captured_json: capture }) => capture.exception !== null)).toEqual(failed);
    const exceptions = all.flatMap(({ captured_json: capture }) => capture.exception ?? []);
    expect(exceptions.length).toBeGreaterThan(20);
    for (const { type, message, stacktrace } of exceptions)
      expect(stacktrace.startsWith(`${type}: ${message}\n    at `)).toBe(true);
  });

  it('has log lines within the time of the request, in order, to the microsecond', () => {
    for (const { request, captured_json: capture } of whole) {
      const times = capture.logs.map(({ timestamp }) => timestamp);
      const end = new Date(request.timestamp + request.response_time_ms + 1).toISOString();
      expect(times.filter((time) => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(time))).toEqual([]);
      expect([...times].sort()).toEqual(times);
      expect(times.every((time) => time >= new Date(request.timestamp).toISOString().slice(0, -1))).toBe(
        true,
      );
      expect(times.every((time) => time < end)).toBe(true);
    }
  });

  it('has spans that lie in their parents, under one root that is the request', () => {
    for (const captured of whole) {
      const spans = parseSpans(captured);
      const byId = new Map(spans.map((span) => [span.span_id, span]));
      expect(byId.size).toBe(spans.length);
      expect(spans.filter(({ parent_span_id }) => parent_span_id === null)).toEqual([spans[0]]);
      for (const { parent_span_id, start_time_ns, end_time_ns, duration_ns } of spans) {
        expect(end_time_ns - start_time_ns).toBe(duration_ns);
        const parent = parent_span_id === null ? undefined : byId.get(parent_span_id)!;
        if (!parent) continue;
        expect(start_time_ns >= parent.start_time_ns && end_time_ns <= parent.end_time_ns).toBe(true);
      }
    }
  });

  it('has spans of nanoseconds that a double cannot hold, and of the kinds and statuses of the contract', () => {
    const spans = whole.flatMap(parseSpans);
    expect(spans.some(({ start_time_ns }) => BigInt(Number(start_time_ns)) !== start_time_ns)).toBe(true);
    expect(new Set(spans.map(({ kind }) => kind))).toEqual(
      new Set(['SERVER', 'INTERNAL', 'CLIENT', 'PRODUCER']),
    );
    expect(new Set(spans.map(({ status }) => status))).toEqual(new Set(['UNSET', 'OK', 'ERROR']));
  });

  it('has attributes of every type', () => {
    const values = whole.flatMap(parseSpans).flatMap(({ attributes }) => Object.values(attributes));
    const types = values.map((value) => (Array.isArray(value) ? 'list' : typeof value));
    expect(new Set(types)).toEqual(new Set(['string', 'number', 'boolean', 'list', 'object']));
  });
});
